/**
 * The part of the battery that needs nothing but what the other tests need: real clients against eight tabs of
 * a person, through the relay. `make test-clients` runs all clients, on Chromium's own port too.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clients } from './battery/clients.mjs';
import { readRecord, readTable, regressions, renderTable } from './battery/record.mjs';
import { runBattery } from './battery/run.mjs';

const record = readRecord();

for (const client of clients.filter(({ isFast }) => isFast)) {
  test(`${client.name} does what it did when it was recorded`, async () => {
    const recorded = record[client.name].relay;
    // What failed then cannot become worse, and may take long.
    const outcome = await runBattery(client, 'relay', (name) => recorded.cells[name] === 'ok');
    assert.deepEqual(regressions(client, outcome, recorded), []);
  });
}

test('the table in docs/clients.md shows what was recorded', () => {
  assert.equal(readTable(), renderTable(clients, record));
});

test('the record is of the versions in the lock files', () => {
  for (const client of clients) {
    assert.equal(record[client.name]?.version, client.version(), client.name);
  }
});
