import { booleanSetting, textSetting } from './setting.ts';

/* Settings of openCypher (cypher.md 3.2). */

export const loadCsvAllowFileUrls = booleanSetting('opencypher.loadCsv.allowFileUrls', {
  default: true,
  description: 'LOAD CSV may read files of the server, for those who may change its security',
});
export const loadCsvImportDirectory = textSetting('opencypher.loadCsv.importDirectory', {
  description: 'Directory that files of LOAD CSV lie in; those that imports may read when empty',
});
export const loadCsvAllowRemoteUrls = booleanSetting('opencypher.loadCsv.allowRemoteUrls', {
  default: true,
  description: 'LOAD CSV may fetch by http and https, from public addresses as imports do',
});
