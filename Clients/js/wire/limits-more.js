import { Limits as common } from './limits.js';

/** All limits of the protocol that this client checks: also those of what few programs use. */
export const Limits = Object.freeze({
  ...common,
  predicateNodesMax: 256,
  predicateDepthMax: 32,
  subqueryDepthMax: 4,
  predicateValuesMax: 10000,
  /** Tagged fields of a fetch request. */
  fetchFieldsMax: 16,
  undoConflictsMax: 100,
  outlineExceptionsMax: 65536,
  outlineWindowRowsMax: 1000,
  totalsMax: 16,
  presenceBytesMax: 1024,
  largeValueBytesMax: 16777216,
  depthMax: 1048576,
  statisticsMax: 1000,
  clientsPageMax: 1000,
  explanationListMax: 1000,
  explanationTextBytesMax: 65536,
  checkProblemsMax: 100,
  checkProblemBytesMax: 1024,
  modelChangesMax: 1000,
  modelChangeBytesMax: 512,
  previewObjectsMax: 1000,
  frameUnpackedBytesMax: 1048576,
  chunkBytes: 262144,
  chunkUnpackedBytesMax: 1048576,
  chunkRowsMax: 65536,
  tokensMax: 3000,
  clusterNodesMax: 256,
  clusterTextBytesMax: 1024,
  /** Entities that one subscription to changes may name. */
  changesEntitiesMax: 1000,
});
