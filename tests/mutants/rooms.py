"""What is changed in each room, and which tests have to notice: (target, arguments of its program) in the order in
which they are run. The first that fails ends the search."""

ROOMS = {
    'sampler': {
        'files': ['src/sampler/*.cpp', 'src/sampler/*.h'],
        'tests': [('test_sampler', []), ('test_engine', ['--gtest_filter=Banned*:Generations*:Session*:StepBiases*'])],
    },
    'grammar': {
        'files': ['src/text/grammar/*.cpp', 'src/text/grammar/*.h'],
        'tests': [('test_text_grammar', []), ('test_text', ['--gtest_filter=*Grammar*']),
                  ('test_capi', ['--gtest_filter=*Grammar*:*Matcher*:*Forced*:*Chat*'])],
    },
    'engine': {
        'files': ['src/engine/*.cpp', 'src/engine/*.h'],
        'tests': [('test_engine', ['--gtest_filter=-*Vulkan*:*Cuda*:CutInTwo/*'])],
    },
    'server': {
        'files': ['src/server/**/*.cpp', 'src/server/**/*.h'],
        'tests': [('test_server', [])],
    },
    'capi': {
        'files': ['capi/*.cpp', 'capi/*.h'],
        'tests': [('test_capi', []), ('test_options', [])],
    },
    'devices': {
        'files': ['src/backend/choose_device.cpp', 'src/backend/registry.cpp', 'src/backend/plugin.cpp',
                  'src/model/device_options.cpp', 'src/model/device_placement.cpp', 'src/model/placed_executable.cpp',
                  'src/model/model_devices.cpp'],
        'tests': [('test_backend', []), ('test_model', []), ('test_engine', ['--gtest_filter=Placed*:Devices*']),
                  ('test_plan', [])],
    },
}
