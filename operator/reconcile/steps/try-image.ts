import { bareBuild, parseBuild } from '../../api/build.ts';
import type { Build } from '../../api/build.ts';
import type { Job } from '../../api/kubernetes-object.ts';
import { annotationKeys } from '../../api/names.ts';
import type { ObservedMember } from '../../api/observation.ts';
import { precheckJob, precheckName } from '../../resources/precheck-job.ts';
import { isReady } from '../../resources/pod-state.ts';
import { versionLabel } from '../../resources/owner.ts';
import { featuresOnlyOf, returnProblem, upgradeProblem } from '../build-compatibility.ts';
import { impairment, memberTrouble } from '../group/member-trouble.ts';
import { lookAgain, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, StepEnd } from '../pass.ts';

const pollMs = 5000;
const soonMs = 1000;
/** The pod of a Job that ended comes by another watch. */
const reportMs = 10_000;

/**
 * An image is tried before a member that runs is ended for it (operator.md 8.12): one that cannot be pulled, is no server, or does not
 * say that it goes on with the data that are there, interrupts nothing.
 * @param canReturn whether there is an image to stay with for good
 * @returns undefined when the member may restart with it
 */
export function tryImage(pass: Pass, draft: Draft, canReturn: boolean): StepEnd | undefined {
  const { seen, cluster, spec, wantedImage } = pass;
  const unfit = unfitMember(pass);
  if (unfit !== undefined) {
    draft.progress = { reason: 'Upgrading', message: `before the image is changed: ${unfit}` };
    lookAgain(draft, pollMs);
    return {};
  }
  // Where Jobs may not be read or made images are not tried.
  if (seen.jobs === undefined) return judge(pass, draft, undefined);
  const name = precheckName(cluster, wantedImage);
  const job = seen.jobs.find(({ metadata }) => metadata.name === name);
  if (rejectionOf(pass, draft, `apply Job/${name}`) !== undefined)
    return judge(pass, draft, undefined);
  const problem = seen.prechecks.get(name)?.problem;
  const because = problem === undefined ? '' : `: ${problem}`;
  draft.progress = { reason: 'Upgrading', message: `trying image ${wantedImage}${because}` };
  if (job === undefined) {
    const node = seen.members.find(({ pod }) => isReady(pod))?.pod?.spec?.nodeName;
    const present = pass.previous.lastGoodImage;
    const given = { image: wantedImage, present, node };
    return { action: { kind: 'apply', objects: [precheckJob(cluster, spec, given)] } };
  }
  if (holds(job, 'Complete')) return awaitReport(pass, draft, job) ?? judge(pass, draft, name);
  const restMs =
    Date.parse(job.metadata.creationTimestamp ?? '') +
    spec.update.progressDeadlineSeconds * 1000 -
    pass.nowMs;
  if (!holds(job, 'Failed') && restMs > 0) {
    lookAgain(draft, Math.min(restMs, pollMs));
    return {};
  }
  const why = `Job ${name} did not end well${because}`;
  const message = `image ${wantedImage} does not start, the member keeps its own: ${why}`;
  stall(draft, 'UpgradeFailed', message);
  if (canReturn) {
    draft.failedImage = wantedImage;
    lookAgain(draft, 0);
  }
  return {};
}

/** A copy that differs, or a disk that is filling, is put right before another build gets at it. */
function unfitMember({ seen, group }: Pass): string | undefined {
  const isUnfit = (member: ObservedMember) =>
    impairment(member) !== undefined || member.raft?.logState === 'PRESSURE';
  const found = seen.members.find(isUnfit);
  return found && `${found.name} ${memberTrouble(found, group) ?? ''}`;
}

function awaitReport(pass: Pass, draft: Draft, job: Job): StepEnd | undefined {
  if (pass.seen.prechecks.get(job.metadata.name)?.next !== undefined) return undefined;
  const endedMs = Date.parse(job.status?.completionTime ?? '');
  if (!(pass.nowMs - endedMs < reportMs)) return undefined;
  lookAgain(draft, soonMs);
  return {};
}

/** Compares both builds, and notes whether there is a way back. @param job undefined: it could not be tried */
function judge(pass: Pass, draft: Draft, job: string | undefined): StepEnd | undefined {
  const { wantedImage, cluster } = pass;
  const { present, next } = buildsOf(pass, job);
  const problem = upgradeProblem(present, next);
  // What has been let go on once is not held up half way.
  if (problem !== undefined && !pass.isForced && draft.oneWay === undefined) {
    draft.failedImage = wantedImage;
    lookAgain(draft, 0);
    const { name, namespace = 'default' } = cluster.metadata;
    const token = precheckName(cluster, wantedImage);
    stall(
      draft,
      'UpgradeFailed',
      `image ${wantedImage} is not rolled out: ${problem}. To go on all the same, without a way back: kubectl -n ${namespace} annotate --overwrite clusters.polyad.io ${name} ${annotationKeys.adopt}=${token}`,
    );
    return {};
  }
  draft.oneWay = problem ?? returnProblem(present, next);
  draft.newFeatures = featuresOnlyOf(next, present).slice(0, 32);
  draft.progress = undefined;
  return undefined;
}

function buildsOf(pass: Pass, job: string | undefined): Record<'present' | 'next', Build> {
  const { spec, previous, wantedImage } = pass;
  const report = job === undefined ? undefined : pass.seen.prechecks.get(job);
  const present = versionLabel(undefined, previous.lastGoodImage ?? '') ?? previous.version;
  return {
    present: parseBuild(report?.present) ?? bareBuild(present),
    next: parseBuild(report?.next) ?? bareBuild(versionLabel(spec.version, wantedImage)),
  };
}

function holds({ status }: Job, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
}
