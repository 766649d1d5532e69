import type { ScenarioContext } from '../scenario.ts';
import type { KubernetesObject } from './objects.ts';

/** Milliseconds from the answer to a changed spec until the ConfigMap of the member holds the change. */
export async function reactionMs(
  { api, namespace }: Pick<ScenarioContext, 'api' | 'namespace'>,
  name: string,
  limit: string,
): Promise<number> {
  const ended = new AbortController();
  const core = `/api/v1/namespaces/${namespace.name}`;
  const seen = new Promise<number>((told) => {
    const onChange = ({ object }: { object: KubernetesObject }): void => {
      const text = String((object['data'] as Record<string, string> | undefined)?.['service.json']);
      if (object.metadata.name === `${name}-config` && text.includes(`"${limit}"`))
        told(performance.now());
    };
    void api.watch(`${core}/configmaps`, { onBegin() {}, onChange, signal: ended.signal });
  });
  const start = performance.now();
  const settings = { 'service.server.httpQueryDefaultLimit': limit };
  const path = `/apis/polyad.io/v1alpha1/namespaces/${namespace.name}/clusters/${name}`;
  await api.patch(path, { spec: { settings } });
  const ms = (await seen) - start;
  ended.abort();
  return ms;
}
