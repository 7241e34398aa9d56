# Tenon from Ruby, by fiddle: ruby tenon.rb LIBRARY MODEL
require "fiddle"
require "json"

# The functions and structures of tenon.h, from the library's description of itself, so they fit.
class Tenon
  KINDS = { "double" => Fiddle::TYPE_DOUBLE, "int32_t" => Fiddle::TYPE_INT, "uint32_t" => -Fiddle::TYPE_INT,
            "int64_t" => Fiddle::TYPE_LONG_LONG, "uint64_t" => -Fiddle::TYPE_LONG_LONG,
            "size_t" => Fiddle::TYPE_SIZE_T, "tenon_status" => Fiddle::TYPE_INT, "void" => Fiddle::TYPE_VOID }.freeze
  PACK = { "int32_t" => "l", "uint32_t" => "L", "uint64_t" => "Q", "double" => "d" }.freeze

  def initialize(path)
    @library = Fiddle::Handle.new(path)
    describe = Fiddle::Function.new(@library["tenon_interface_description"], [], Fiddle::TYPE_VOIDP)
    interface = JSON.parse(describe.call.to_s)
    @structs = interface["structs"].to_h { |struct| [struct["name"], struct] }
    @functions = interface["functions"].to_h { |function| [function["name"], function] }
    @made = {}
  end

  # tenon.session_next(...) calls tenon_session_next; a failure is an exception.
  def method_missing(name, *arguments)
    function = @functions["tenon_#{name}"] or return super
    @made[name] ||= Fiddle::Function.new(@library["tenon_#{name}"],
                                         function["parameters"].map { |p| kind(p["type"]) }, kind(function["returns"]))
    result = @made[name].call(*arguments)
    thrown, @thrown = @thrown, nil
    raise thrown if thrown
    raise "#{status_name(result)}: #{last_error}" if function["fails"] && result != 0
    function["returns"] == "const char*" ? result.to_s : result
  end

  def respond_to_missing?(name, all = false) = @functions.key?("tenon_#{name}") || super

  # A function that the library calls with two pointers. No exception may leave it: it is kept, ends
  # the call, and is raised when the call returns.
  def callback
    Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP]) do |_, given|
      yield given
      0
    rescue Exception => error
      @thrown = error
      1
    end
  end

  def kind(type) = KINDS.fetch(type, Fiddle::TYPE_VOIDP)

  # An object, made by a function whose last parameter it is.
  def make(name, *arguments)
    place = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    public_send(name, *arguments, place)
    place.ptr
  end

  # The bytes of a structure; values by the names of its fields.
  def struct(name, **values)
    bytes = Fiddle::Pointer.malloc(@structs[name]["size"], Fiddle::RUBY_FREE)
    bytes[0, bytes.size] = "\0" * bytes.size
    values.merge(struct_size: bytes.size).each do |field, value|
      at = field_of(name, field)
      bytes[at["offset"], at["size"]] = [value].pack(PACK.fetch(at["type"], "Q"))
    end
    bytes
  end

  def read(bytes, name, field)
    at = field_of(name, field)
    bytes[at["offset"], at["size"]].unpack1(PACK.fetch(at["type"], "Q"))
  end

  def field_of(name, field) = @structs[name]["fields"].find { |one| one["name"] == field.to_s } or raise KeyError, field
end

tenon = Tenon.new(ARGV[0])
settings = tenon.make(:options_create)
tenon.options_set_int(settings, "threads", 1)
model = tenon.make(:model_open, ARGV[1], settings)
tenon.options_set_string(settings, "embeddings", "on", 2)
encoder = tenon.make(:model_open, ARGV[1], settings)
settings = tenon.make(:options_create)
tenon.options_set_float(settings, "temperature", 0.0)
sampler = tenon.make(:sampler_create, settings)
session = tenon.make(:session_create, model, nil)

# Streams.
tenon.session_append_text(session, "Once upon a time", 16, 1)
piece = tenon.struct("tenon_piece")
8.times do
  tenon.session_next(session, sampler, piece)
  print Fiddle::Pointer.new(tenon.read(piece, "tenon_piece", :text))[0, tenon.read(piece, "tenon_piece", :length)]
end
puts

# Embeds.
embedder = tenon.make(:embedder_create, encoder, nil)
texts = ["a fox", "a fox", "the sea"].map { |text| Fiddle::Pointer[text] }
places = Fiddle::Pointer[texts.map(&:to_i).pack("Q*")]
batch = tenon.struct("tenon_embedder_batch", count: texts.size, texts: places.to_i)
needed = Fiddle::Pointer.malloc(Fiddle::SIZEOF_SIZE_T, Fiddle::RUBY_FREE)
tenon.embedder_embed(embedder, batch, nil, 0, needed)
values = Fiddle::Pointer.malloc(4 * needed[0, 8].unpack1("Q"), Fiddle::RUBY_FREE)
tenon.embedder_embed(embedder, batch, values, values.size / 4, needed)
rows = values[0, values.size].unpack("e*").each_slice(values.size / 4 / texts.size).to_a
likeness = rows[1..].map { |row| row.zip(rows[0]).sum { |a, b| a * b } }
puts format("%d numbers, likeness %.3f and %s", rows[0].size, likeness[0], likeness[1] < 0.999 ? "less" : "as much")

# Cancels, and raises, from the function that gets the pieces.
def failure
  yield
rescue RuntimeError => error
  error.message
end
came = 0
cancels = tenon.callback { tenon.session_cancel(session) if (came += 1) == 3 }
cancelled = failure { tenon.session_generate(session, sampler, 100, cancels, nil) }
puts "#{cancelled[/\A\w+/]} after #{came} pieces"
raises = tenon.callback { raise "thrown by the program" }
puts failure { tenon.session_generate(session, sampler, 100, raises, nil) }
puts failure { tenon.session_rewind(session, 1000) }
tenon.session_destroy(session)
[model, encoder].each { |one| tenon.model_destroy(one) }
