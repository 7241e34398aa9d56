// Tenon from C#, by P/Invoke: mcs Tenon.cs && mono Tenon.exe MODEL. The library is found as libtenon.so.
using System;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;

static class Tenon
{
    const string Library = "tenon";
    [DllImport(Library)] static extern IntPtr tenon_interface_description();
    [DllImport(Library)] static extern IntPtr tenon_last_error();
    [DllImport(Library)] static extern IntPtr tenon_status_name(int status);
    [DllImport(Library)] static extern int tenon_options_create(out IntPtr options);
    [DllImport(Library)] static extern int tenon_options_set_int(IntPtr options, string key, long value);
    [DllImport(Library)] static extern int tenon_options_set_float(IntPtr options, string key, double value);
    [DllImport(Library)] static extern int tenon_options_set_string(IntPtr options, string key, string value, UIntPtr length);
    [DllImport(Library)] static extern int tenon_model_open(string path, IntPtr options, out IntPtr model);
    [DllImport(Library)] static extern void tenon_model_destroy(IntPtr model);
    [DllImport(Library)] static extern int tenon_sampler_create(IntPtr options, out IntPtr sampler);
    [DllImport(Library)] static extern int tenon_session_create(IntPtr model, IntPtr options, out IntPtr session);
    [DllImport(Library)] static extern void tenon_session_destroy(IntPtr session);
    [DllImport(Library)] static extern int tenon_session_append_text(IntPtr session, byte[] text, UIntPtr length, uint flags);
    [DllImport(Library)] static extern int tenon_session_next(IntPtr session, IntPtr sampler, IntPtr piece);
    [DllImport(Library)] static extern int tenon_session_generate(IntPtr session, IntPtr sampler, ulong maxTokens, OnPiece onPiece, IntPtr user);
    [DllImport(Library)] static extern int tenon_session_cancel(IntPtr session);
    [DllImport(Library)] static extern int tenon_session_rewind(IntPtr session, ulong position);
    [DllImport(Library)] static extern int tenon_embedder_create(IntPtr model, IntPtr options, out IntPtr embedder);
    [DllImport(Library)] static extern int tenon_embedder_embed(IntPtr embedder, IntPtr batch, float[] rows, UIntPtr capacity, out UIntPtr needed);
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate int OnPiece(IntPtr user, IntPtr piece);

    // Structures by the offsets of the library's description of itself, so they always fit.
    static readonly string Description = Regex.Replace(Marshal.PtrToStringAnsi(tenon_interface_description()), "(?<=[,:{}\\[\\]])\\s+", "");
    static string Struct(string name) { return Found(Description, "\"name\":\"" + name + "\",\"size\"[^\\]]*\\]"); }
    static int Offset(string name, string field) { return int.Parse(Found(Struct(name), "\"name\":\"" + field + "\"[^}]*\"offset\":(\\d+)")); }
    static int Size(string name) { return int.Parse(Found(Struct(name), "\"size\":(\\d+),\"alignment\"")); }
    static string Found(string text, string pattern)
    {
        var match = Regex.Match(text, pattern);
        if (!match.Success) throw new Exception("the library has nothing like " + pattern);
        return match.Groups[match.Groups.Count - 1].Value;
    }
    // Compares the declarations above with the library's: another signature is refused.
    static void CheckSignatures()
    {
        Func<Type, string> cType = type => type == typeof(int) ? "int32_t" : type == typeof(uint) ? "uint32_t"
            : type == typeof(long) ? "int64_t" : type == typeof(ulong) ? "uint64_t" : type == typeof(UIntPtr) ? "size_t"
            : type == typeof(double) ? "double" : type == typeof(void) ? "void" : "pointer";
        foreach (var method in typeof(Tenon).GetMethods(BindingFlags.Static | BindingFlags.NonPublic).Where(m => m.Name.StartsWith("tenon_")))
        {
            var found = Regex.Match(Description, "\"name\":\"" + method.Name + "\",\"returns\":\"([^\"]*)\"[^\\[]*\\[([^\\]]*)\\]");
            var theirs = Regex.Matches(found.Groups[2].Value, "\"type\":\"([^\"]*)\"").Cast<Match>().Select(m => m.Groups[1].Value);
            var ours = method.GetParameters().Select(p => cType(p.ParameterType)).Concat(new[] { cType(method.ReturnType) });
            var plain = theirs.Concat(new[] { found.Groups[1].Value.Replace("tenon_status", "int32_t") })
                .Select(type => type.Contains("*") || type.EndsWith("_callback") ? "pointer" : type);
            if (!found.Success || !ours.SequenceEqual(plain)) throw new Exception("the library has another " + method.Name);
        }
    }
    static IntPtr Make(string name) // zeros, except struct_size
    {
        var memory = Marshal.AllocHGlobal(Size(name));
        Marshal.Copy(new byte[Size(name)], 0, memory, Size(name));
        Marshal.WriteInt32(memory, Offset(name, "struct_size"), Size(name));
        return memory;
    }
    static Exception thrown; // by a function that C called, which no exception may leave: rethrown after the call
    static void Check(int status)
    {
        var kept = thrown;
        thrown = null;
        if (kept != null) throw kept;
        if (status == 0) return;
        throw new Exception(Marshal.PtrToStringAnsi(tenon_status_name(status)) + ": " + Marshal.PtrToStringAnsi(tenon_last_error()));
    }
    static void Generate(IntPtr session, IntPtr sampler, Action<IntPtr> use) // calls it with each piece
    {
        OnPiece onPiece = (user, piece) =>
        {
            try { use(piece); return 0; }
            catch (Exception error) { thrown = error; return 1; }
        };
        int status = tenon_session_generate(session, sampler, 100, onPiece, IntPtr.Zero);
        GC.KeepAlive(onPiece);
        Check(status);
    }
    static string Failure(Action call)
    {
        try { call(); return "nothing"; }
        catch (Exception error) { return error.Message; }
    }
    static string Text(IntPtr piece)
    {
        var bytes = new byte[Marshal.ReadInt64(piece, Offset("tenon_piece", "length"))];
        if (bytes.Length > 0) Marshal.Copy(Marshal.ReadIntPtr(piece, Offset("tenon_piece", "text")), bytes, 0, bytes.Length);
        return Encoding.UTF8.GetString(bytes);
    }

    static void Main(string[] arguments)
    {
        CheckSignatures();
        IntPtr settings, model, encoder, sampler, session, embedder;
        Check(tenon_options_create(out settings));
        Check(tenon_options_set_int(settings, "threads", 1));
        Check(tenon_model_open(arguments[0], settings, out model));
        Check(tenon_options_set_string(settings, "embeddings", "on", (UIntPtr)2));
        Check(tenon_model_open(arguments[0], settings, out encoder));
        Check(tenon_options_create(out settings));
        Check(tenon_options_set_float(settings, "temperature", 0));
        Check(tenon_sampler_create(settings, out sampler));
        Check(tenon_session_create(model, IntPtr.Zero, out session));

        // Streams.
        Check(tenon_session_append_text(session, Encoding.UTF8.GetBytes("Once upon a time"), (UIntPtr)16, 1));
        var piece = Make("tenon_piece");
        for (int i = 0; i < 8; ++i)
        {
            Check(tenon_session_next(session, sampler, piece));
            Console.Write(Text(piece));
        }
        Console.WriteLine();

        // Embeds.
        Check(tenon_embedder_create(encoder, IntPtr.Zero, out embedder));
        var batch = Make("tenon_embedder_batch");
        var texts = Marshal.AllocHGlobal(3 * IntPtr.Size);
        for (int i = 0; i < 3; ++i) Marshal.WriteIntPtr(texts, i * IntPtr.Size, Marshal.StringToHGlobalAnsi(i < 2 ? "a fox" : "the sea"));
        Marshal.WriteInt64(batch, Offset("tenon_embedder_batch", "count"), 3);
        Marshal.WriteIntPtr(batch, Offset("tenon_embedder_batch", "texts"), texts);
        UIntPtr needed;
        Check(tenon_embedder_embed(embedder, batch, null, UIntPtr.Zero, out needed));
        var rows = new float[(int)needed];
        Check(tenon_embedder_embed(embedder, batch, rows, needed, out needed));
        int count = rows.Length / 3;
        double same = 0, other = 0;
        for (int i = 0; i < count; ++i)
        {
            same += rows[i] * rows[count + i];
            other += rows[i] * rows[2 * count + i];
        }
        Console.WriteLine("{0} numbers, likeness {1:F3} and {2}", count, same, other < 0.999 ? "less" : "as much");

        // Cancels, and throws, from the function that gets the pieces.
        int came = 0;
        string cancelled = Failure(() => Generate(session, sampler, _ => { if (++came == 3) Check(tenon_session_cancel(session)); }));
        Console.WriteLine("{0} after {1} pieces", cancelled.Split(':')[0], came);
        Console.WriteLine(Failure(() => Generate(session, sampler, _ => { throw new Exception("thrown by the program"); })));
        Console.WriteLine(Failure(() => Check(tenon_session_rewind(session, 1000))));
        tenon_session_destroy(session);
        tenon_model_destroy(model);
        tenon_model_destroy(encoder);
    }
}
