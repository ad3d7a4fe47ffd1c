/**
 * Makes the harness use the release build. Import this before the harness: it reads the variable
 * when it loads.
 */

process.env.TABWIRE_BIN ??= new URL('../../target/release/tabwire', import.meta.url).pathname;
