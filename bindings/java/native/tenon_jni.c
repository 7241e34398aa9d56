/* libtenon-jni.so, for Java before 22: the functions of tenon.h and server.h as methods of tenon.JniCalls,
 * by generated.h; here are the libraries, memory, and the threads of callbacks. It is not linked with them:
 * Java names them, and compares them with what the binding was made for, before they are used. */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <tenon/server.h>
#include <tenon/tenon.h>

#include "generated.h" /* FUNCTIONS; below again, for the rest */

/* ---- The library ----------------------------------------------------------------------------- */

/* Functions of the libraries in use; NULL: a library lacks the function. */
#define MEMBER(name) __typeof__(&tenon_##name) name;
static struct { FUNCTIONS(MEMBER) SERVER_FUNCTIONS(MEMBER) } api;
#undef MEMBER

static JavaVM* machine;
static jclass unsupported; /* the exception for a function that is missing */
static jclass upcalls;
static jmethodID upcall_methods[NUM_UPCALLS];

static void missing(JNIEnv* env, const char* function) {
  const int of_server = strncmp(function, "tenon_server_", 13) == 0;
  char message[128] = "this libtenon";
  strncat(message, of_server ? "-server has no " : " has no ", 20);
  strncat(message, function, 60);
  strncat(message, ": it is another version", 30);
  (*env)->ThrowNew(env, unsupported, message);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static pthread_key_t attached;

static void detach(void* env) {
  (void)env;
  (*machine)->DetachCurrentThread(machine);
}

/* Environment of the calling thread. A thread that is not Java's (log lines may come on any)
 * becomes a daemon of Java's until it ends. NULL if Java is gone. */
static JNIEnv* environment(void) {
  void* env = NULL;
  if ((*machine)->GetEnv(machine, &env, JNI_VERSION_1_8) == JNI_OK) return env;
  if ((*machine)->AttachCurrentThreadAsDaemon(machine, &env, NULL) != JNI_OK) return NULL;
  pthread_setspecific(attached, env);
  return env;
}

/* True if a callback threw, which happens only at the end of Java's stack: the exception is
 * dropped. */
static jboolean has_thrown(JNIEnv* env) {
  const jboolean thrown = (*env)->ExceptionCheck(env);
  if (thrown) (*env)->ExceptionClear(env);
  return thrown;
}

#define TENON_GENERATED_BODIES
#include "generated.h"

/* ---- Methods of tenon.JniNative ---------------------------------------------------------------- */

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  (void)reserved;
  machine = vm;
  return pthread_key_create(&attached, &detach) == 0 ? JNI_VERSION_1_8 : JNI_ERR;
}

/* Called after the class loader has gone: threads that end later must not call this code any more.
 */
JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* vm, void* reserved) {
  (void)vm;
  (void)reserved;
  (void)pthread_key_delete(attached);
}

JNIEXPORT void JNICALL Java_tenon_JniNative_initialise(JNIEnv* env, jclass self,
                                                       jclass upcalls_class,
                                                       jclass unsupported_class) {
  (void)self;
  upcalls = (*env)->NewGlobalRef(env, upcalls_class);
  unsupported = (*env)->NewGlobalRef(env, unsupported_class);
  for (int i = 0; i < NUM_UPCALLS; ++i) {
    upcall_methods[i] =
        (*env)->GetStaticMethodID(env, upcalls, upcall_list[i].name, upcall_list[i].signature);
    if (upcall_methods[i] == NULL) return; /* NoSuchMethodError is thrown */
  }
}

static jstring text_of(JNIEnv* env, const char* text) {
  return text == NULL ? NULL : (*env)->NewStringUTF(env, text);
}

/* NULL: dlerror() says why. */
static void* opened(JNIEnv* env, jstring path) {
  const char* const name = (*env)->GetStringUTFChars(env, path, NULL);
  if (name == NULL) return NULL;
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  (*env)->ReleaseStringUTFChars(env, path, name);
  return library;
}

/* [description by `function`, result of `more`], or [why it cannot be loaded]. */
static jobjectArray described(JNIEnv* env, jstring path, const char* function,
                              const char* (*more)(void* library)) {
  const jclass strings = (*env)->FindClass(env, "java/lang/String");
  void* const library = opened(env, path);
  if (strings == NULL) return NULL;
  const jobjectArray said = (*env)->NewObjectArray(env, library == NULL ? 1 : 2, strings, NULL);
  if (said == NULL) return NULL;
  if (library == NULL) {
    (*env)->SetObjectArrayElement(env, said, 0, text_of(env, dlerror()));
    return said;
  }
  const char* (*description)(void) = NULL;
  *(void**)&description = dlsym(library, function);
  (*env)->SetObjectArrayElement(env, said, 0,
                                description == NULL ? NULL : text_of(env, description()));
  (*env)->SetObjectArrayElement(env, said, 1, text_of(env, more(library)));
  dlclose(library);
  return said;
}

static const char* version_of(void* library) {
  const char* (*version)(void) = NULL;
  *(void**)&version = dlsym(library, "tenon_version_text");
  return version == NULL ? "?" : version();
}

JNIEXPORT jobjectArray JNICALL Java_tenon_JniNative_describeLibrary(JNIEnv* env, jclass self,
                                                                    jstring path) {
  (void)self;
  return described(env, path, "tenon_interface_description", &version_of);
}

/* Owner of the libtenon that a libtenon-server needs. */
static const char* owner_of(void* library) {
  return dlsym(library, "tenon_version") == *(void**)&api.version ? "ours" : "another's";
}

JNIEXPORT jobjectArray JNICALL Java_tenon_JniNative_describeServerLibrary(JNIEnv* env, jclass self,
                                                                          jstring path) {
  (void)self;
  return described(env, path, "tenon_server_interface_description", &owner_of);
}

/* NULL, or why it cannot be loaded. */
JNIEXPORT jstring JNICALL Java_tenon_JniNative_openLibrary(JNIEnv* env, jclass self, jstring path) {
  (void)self;
  void* const library = opened(env, path);
  if (library == NULL) return text_of(env, dlerror());
#define FIND(name) *(void**)&api.name = dlsym(library, "tenon_" #name);
  FUNCTIONS(FIND)
  return NULL;
}

JNIEXPORT jstring JNICALL Java_tenon_JniNative_openServerLibrary(JNIEnv* env, jclass self,
                                                                 jstring path) {
  (void)self;
  void* const library = opened(env, path);
  if (library == NULL) return text_of(env, dlerror());
  SERVER_FUNCTIONS(FIND)
  return NULL;
}
#undef FIND

JNIEXPORT jlong JNICALL Java_tenon_JniNative_address(JNIEnv* env, jobject self, jobject direct) {
  (void)self;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, direct);
}

JNIEXPORT jobject JNICALL Java_tenon_JniNative_viewOf(JNIEnv* env, jobject self, jlong address,
                                                      jlong size) {
  (void)self;
  return (*env)->NewDirectByteBuffer(env, (void*)(intptr_t)address, size);
}

JNIEXPORT jbyteArray JNICALL Java_tenon_JniNative_bytes(JNIEnv* env, jobject self, jlong address,
                                                        jint length) {
  (void)self;
  const jbyteArray copy = (*env)->NewByteArray(env, length);
  if (copy != NULL && length > 0) {
    (*env)->SetByteArrayRegion(env, copy, 0, length, (const jbyte*)(intptr_t)address);
  }
  return copy;
}

JNIEXPORT jlong JNICALL Java_tenon_JniNative_nameLength(JNIEnv* env, jobject self, jlong address) {
  (void)env;
  (void)self;
  return (jlong)strlen((const char*)(intptr_t)address);
}

JNIEXPORT jlong JNICALL Java_tenon_JniNative_upcall(JNIEnv* env, jobject self, jint number) {
  (void)env;
  (void)self;
  return (jlong)(intptr_t)upcall_list[number].function;
}
