#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubectl_hpa_fuzz::prometheus(data));
