#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tabwire_fuzz::http_guard::run(data));
