#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tabwire_fuzz::core_extension::run(data));
