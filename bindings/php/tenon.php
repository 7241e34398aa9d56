<?php
// Tenon from PHP, by FFI: php tenon.php LIBRARY MODEL
[, $path, $file] = $argv;

// The declarations of tenon.h, from the library's description of itself, so they always fit.
function declarations(string $description): string
{
    $interface = json_decode($description, true, 512, JSON_BIGINT_AS_STRING);
    $member = fn($one) => "{$one['type']} {$one['name']}" . (isset($one['count']) ? "[{$one['count']}]" : '');
    $list = fn($item) => implode(', ', array_map($member, $item['parameters'])) ?: 'void';
    $lines = [];
    foreach ($interface['aliases'] as $name => $type) $lines[] = "typedef $type $name;";
    foreach ([...$interface['handles'], ...$interface['structs']] as ['name' => $name]) {
        $lines[] = "typedef struct $name $name;";
    }
    foreach ($interface['callbacks'] as $one) $lines[] = "typedef {$one['returns']} (*{$one['name']})({$list($one)});";
    foreach ($interface['structs'] as $one) {
        $lines[] = "struct {$one['name']} {" . implode('; ', array_map($member, $one['fields'])) . ";};";
    }
    foreach ($interface['functions'] as $one) $lines[] = "{$one['returns']} {$one['name']}({$list($one)});";
    return implode("\n", $lines);
}
$description = FFI::cdef('const char* tenon_interface_description(void);', $path)->tenon_interface_description();
$tenon = FFI::cdef(declarations($description), $path);

$thrown = null; // by a function that C called, which no exception may leave: rethrown after the call
function check(int $status): void
{
    global $tenon, $thrown;
    [$kept, $thrown] = [$thrown, null];
    if ($kept !== null) throw $kept;
    if ($status === 0) return;
    throw new RuntimeException($tenon->tenon_status_name($status) . ': ' . $tenon->tenon_last_error(), $status);
}
// An object, made by a function whose last parameter it is.
function make(string $kind, string $create, ...$arguments): FFI\CData
{
    global $tenon;
    $place = $tenon->new("tenon_$kind*");
    check($tenon->{"tenon_$create"}(...[...$arguments, FFI::addr($place)]));
    return $place;
}

$settings = make('options', 'options_create');
check($tenon->tenon_options_set_int($settings, 'threads', 1));
$model = make('model', 'model_open', $file, $settings);
check($tenon->tenon_options_set_string($settings, 'embeddings', 'on', 2));
$encoder = make('model', 'model_open', $file, $settings);
$settings = make('options', 'options_create');
check($tenon->tenon_options_set_float($settings, 'temperature', 0));
$sampler = make('sampler', 'sampler_create', $settings);
$session = make('session', 'session_create', $model, null);

// Streams.
check($tenon->tenon_session_append_text($session, 'Once upon a time', 16, 1));
$piece = $tenon->new('tenon_piece');
for ($i = 0; $i < 8; $i++) {
    $piece->struct_size = FFI::sizeof($piece);
    check($tenon->tenon_session_next($session, $sampler, FFI::addr($piece)));
    echo $piece->length === 0 ? '' : FFI::string($piece->text, $piece->length);
}
echo "\n";

// Embeds.
$embedder = make('embedder', 'embedder_create', $encoder, null);
$texts = $tenon->new('const char*[3]');
$kept = [];
foreach (['a fox', 'a fox', 'the sea'] as $i => $text) {
    $kept[$i] = $tenon->new('char[' . (strlen($text) + 1) . ']');
    FFI::memcpy($kept[$i], $text, strlen($text));
    $texts[$i] = $tenon->cast('const char*', $kept[$i]);
}
$batch = $tenon->new('tenon_embedder_batch');
$batch->struct_size = FFI::sizeof($batch);
$batch->count = 3;
$batch->texts = $tenon->cast('const char* const*', $texts);
$needed = $tenon->new('size_t');
check($tenon->tenon_embedder_embed($embedder, FFI::addr($batch), null, 0, FFI::addr($needed)));
$rows = $tenon->new("float[$needed->cdata]");
check($tenon->tenon_embedder_embed($embedder, FFI::addr($batch), $tenon->cast('float*', $rows), $needed->cdata, FFI::addr($needed)));
$count = intdiv($needed->cdata, 3);
[$same, $other] = [0.0, 0.0];
for ($i = 0; $i < $count; $i++) {
    $same += $rows[$i] * $rows[$count + $i];
    $other += $rows[$i] * $rows[2 * $count + $i];
}
printf("%d numbers, likeness %.3f and %s\n", $count, $same, $other < 0.999 ? 'less' : 'as much');

// Calls a function with each piece.
function generate(FFI\CData $session, FFI\CData $sampler, callable $use): void
{
    global $tenon;
    check($tenon->tenon_session_generate($session, $sampler, 100, function ($user, $piece) use ($use) {
        global $thrown;
        try {
            $use($piece);
            return 0;
        } catch (Throwable $error) {
            $thrown = $error;
            return 1;
        }
    }, null));
}
function failure(callable $call): string
{
    try {
        $call();
        return 'nothing';
    } catch (RuntimeException $error) {
        return $error->getMessage();
    }
}

// Cancels, and throws, from the function that gets the pieces.
$came = 0;
$cancels = function () use ($tenon, $session, &$came) {
    if (++$came === 3) check($tenon->tenon_session_cancel($session));
};
$cancelled = failure(fn() => generate($session, $sampler, $cancels));
echo strstr($cancelled, ':', true), " after $came pieces\n";
echo failure(fn() => generate($session, $sampler, fn() => throw new RuntimeException('thrown by the program'))), "\n";
echo failure(fn() => check($tenon->tenon_session_rewind($session, 1000))), "\n";
$tenon->tenon_session_destroy($session);
foreach ([$model, $encoder] as $one) $tenon->tenon_model_destroy($one);
