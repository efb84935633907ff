/**
 * Limits of the protocol (protocol.md, section 17) that this client checks, under the names they have there.
 * Sizes are bytes unless the name says otherwise.
 */
export const Limits = Object.freeze({
  objectIDMax: Number.MAX_SAFE_INTEGER,
  valueBytesMax: 65536,
  nameBytesMax: 256,
  mutationsPerTransactionMax: 10000,
  preconditionsPerTransactionMax: 10000,
  relatedPerMutationMax: 100000,
  sortKeysMax: 8,
  columnsMax: 64,
  predicateTextBytesMax: 65536,
  zoneNameBytesMax: 64,
  pathStepsMax: 4,
  propertiesPerEntityMax: 256,
  /** Properties of a projection or a transfer: an entity's, the entity itself, columns, those of outlines. */
  projectionMax: 323,
  entitiesPerModelMax: 1000,
  faultsPerErrorMax: 100,
  historyPageMax: 1000,
  coalesceKeyBytesMax: 64,
  coalesceMillisecondsMax: 60000,
  frameBytesMax: 1048576,
  frameBytesBeforeWelcomeMax: 4096,
  requestIDMax: 2147483647,
  viewIDMin: 2147483648,
  requestsInFlightPerConnectionMax: 128,
  nodeAddressBytesMax: 255,
  /** Tagged fields of a message. */
  fieldsMax: 64,
  /** Runs of results of one RECEIPT. */
  runsMax: 10000,
});
