-- Tenon from LuaJIT: luajit tenon.lua LIBRARY MODEL
local ffi = require("ffi")

-- The declarations of tenon.h, from the library's description of itself, so they always fit.
ffi.cdef("const char* tenon_interface_description(void);")
local library = ffi.load(arg[1])
local description = ffi.string(library.tenon_interface_description()):gsub("([,:{}%[%]])%s+", "%1")
local function section(name) return description:match('"' .. name .. '":(%b[])') end
local function items(name) return section(name):gmatch('{"name":"([%w_]+)",([^%[]*)%[([^%]]*)%]') end
local function members(text, ending)
  local list = {}
  for name, kind, rest in text:gmatch('"name":"([%w_]+)","type":"([^"]+)"([^}]*)') do
    local count = rest:match('"count":(%d+)')
    list[#list + 1] = kind .. " " .. name .. (count and "[" .. count .. "]" or "") .. ending
  end
  return list
end
local declarations = {"typedef int32_t tenon_status; typedef int32_t tenon_token;"}
local function declare(format, ...) declarations[#declarations + 1] = format:format(...) end
for name in section("handles"):gmatch('"name":"([%w_]+)"') do declare("typedef struct %s %s;", name, name) end
for name in items("structs") do declare("typedef struct %s %s;", name, name) end
for name, head, rest in items("callbacks") do
  declare("typedef %s (*%s)(%s);", head:match('"returns":"([^"]+)"'), name, table.concat(members(rest, ""), ", "))
end
for name, _, rest in items("structs") do declare("struct %s { %s };", name, table.concat(members(rest, "; "))) end
for name, head, rest in items("functions") do
  if name ~= "tenon_interface_description" then
    declare("%s %s(%s);", head:match('"returns":"([^"]+)"'), name, table.concat(members(rest, ""), ", "))
  end
end
ffi.cdef(table.concat(declarations, "\n"))

local thrown -- by a function that C called, which no error may leave: raised after the call
local function check(status)
  local kept
  kept, thrown = thrown, nil
  if kept then error(kept, 0) end
  if status == 0 then return end
  error(ffi.string(library.tenon_status_name(status)) .. ": " .. ffi.string(library.tenon_last_error()), 0)
end
local function made(kind, create) -- an object, destroyed when unreferenced
  local out = ffi.new(kind .. "*[1]")
  check(create(out))
  return ffi.gc(out[0], library[kind .. "_destroy"])
end
local function options()
  return made("tenon_options", function(out) return library.tenon_options_create(out) end)
end
local function text_of(piece) return ffi.string(piece.text, piece.length) end

local settings = options()
check(library.tenon_options_set_int(settings, "threads", 1))
local model = made("tenon_model", function(out) return library.tenon_model_open(arg[2], settings, out) end)
check(library.tenon_options_set_string(settings, "embeddings", "on", 2))
local encoder = made("tenon_model", function(out) return library.tenon_model_open(arg[2], settings, out) end)
settings = options()
check(library.tenon_options_set_float(settings, "temperature", 0))
local sampler = made("tenon_sampler", function(out) return library.tenon_sampler_create(settings, out) end)
local session = made("tenon_session", function(out) return library.tenon_session_create(model, nil, out) end)

-- Streams.
check(library.tenon_session_append_text(session, "Once upon a time", 16, 1))
local piece = ffi.new("tenon_piece")
for _ = 1, 8 do
  piece.struct_size = ffi.sizeof(piece)
  check(library.tenon_session_next(session, sampler, piece))
  io.write(text_of(piece))
end
print()

-- Embeds.
local embedder = made("tenon_embedder", function(out) return library.tenon_embedder_create(encoder, nil, out) end)
local texts = ffi.new("const char*[3]", {"a fox", "a fox", "the sea"})
local batch = ffi.new("tenon_embedder_batch", {struct_size = ffi.sizeof("tenon_embedder_batch"), count = 3, texts = texts})
local needed = ffi.new("size_t[1]")
check(library.tenon_embedder_embed(embedder, batch, nil, 0, needed))
local count, rows = tonumber(needed[0]) / 3, ffi.new("float[?]", needed[0])
check(library.tenon_embedder_embed(embedder, batch, rows, needed[0], needed))
local same, other = 0, 0
for i = 0, count - 1 do same, other = same + rows[i] * rows[count + i], other + rows[i] * rows[2 * count + i] end
print(("%d numbers, likeness %.3f and %s"):format(count, same, other < 0.999 and "less" or "as much"))

-- Calls a function with each piece. Code that calls back must not be compiled.
local function generate(use)
  local on_piece = ffi.cast("tenon_piece_callback", function(_, piece)
    local fine, result = pcall(use, piece)
    if not fine then thrown = result end
    return fine and 0 or 1
  end)
  local status = library.tenon_session_generate(session, sampler, 100, on_piece, nil)
  on_piece:free()
  check(status)
end
jit.off(generate)

-- Cancels, and throws, from the function that gets the pieces.
local function failure(...) return select(2, pcall(...)) end
local came = 0
local cancelled = failure(generate, function()
  came = came + 1
  if came == 3 then library.tenon_session_cancel(session) end
end)
print(cancelled:match("^%w+") .. " after " .. came .. " pieces")
print(failure(generate, function() error("thrown by the program", 0) end))
print(failure(check, library.tenon_session_rewind(session, 1000)))
