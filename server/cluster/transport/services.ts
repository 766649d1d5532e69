import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/*
 * The services of the Raft port (ha.md 4.1). Streams carry envelopes, the unary calls JSON texts: what they say changes with
 * versions, and none of them is frequent.
 */

const raw = (bytes: Buffer) => bytes;

function method(path: string, isStream: boolean): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  };
}

export const raftService = {
  Hello: method('/service.raft.v1.RaftTransport/Hello', false),
  Control: method('/service.raft.v1.RaftTransport/Control', true),
  Bulk: method('/service.raft.v1.RaftTransport/Bulk', true),
} satisfies ServiceDefinition;

export const adminService = {
  ChangeMembership: method('/service.raft.v1.RaftAdmin/ChangeMembership', false),
  GroupInfo: method('/service.raft.v1.RaftAdmin/GroupInfo', false),
} satisfies ServiceDefinition;
