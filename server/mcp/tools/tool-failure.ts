/** A tool that says no: the answer is a result with `isError` and this message (mcp.md 1.5). */
export class ToolFailure extends Error {}
