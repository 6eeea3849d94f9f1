// An HTTP/1.1 response, assembled from the pieces in which it arrives.

export interface Answer {
  status: number;
  retryAfter: number; // seconds; 0: not given
  body: Buffer;
}

interface Head {
  status: number;
  retryAfter: number;
  bodyAt: number;
  length: number | 'chunked' | 'until closed';
  keepAlive: boolean;
}

const HEAD_BYTES_MAX = 64 * 1024;

function readHead(text: string, bodyAt: number): Head {
  const [first, ...lines] = text.split('\r\n');
  const start = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first!);
  if (!start) throw new Error('the response is not HTTP/1.1');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const status = Number(start[2]);
  const chunked = /\bchunked$/i.test(headers.get('transfer-encoding') ?? '');
  const given = headers.get('content-length');
  if (given !== undefined && !/^\d{1,15}$/.test(given)) throw new Error('the response has an invalid length');
  let length: Head['length'] = chunked ? 'chunked' : given === undefined ? 'until closed' : Number(given);
  if (status < 200 || status === 204 || status === 304) length = 0;
  return {
    status,
    retryAfter: Number(headers.get('retry-after') ?? 0) || 0,
    bodyAt,
    length,
    keepAlive: start[1] === '1' && length !== 'until closed' && !/\bclose\b/i.test(headers.get('connection') ?? ''),
  };
}

// The body and where it ends; undefined: it is not complete yet.
function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = /^([0-9a-f]{1,8})(?:;|$)/i.exec(bytes.toString('latin1', at, lineEnd));
    if (!size) throw new Error('the response has invalid chunks');
    const begin = lineEnd + 2;
    const end = begin + parseInt(size[1]!, 16);
    if (end === begin) {
      // Trailers may follow; an empty line ends them.
      const trailers = bytes.toString('latin1', lineEnd).indexOf('\r\n\r\n');
      return trailers < 0 ? undefined : { body: Buffer.concat(parts), end: lineEnd + trailers + 4 };
    }
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Error('the response has invalid chunks');
    parts.push(bytes.subarray(begin, end));
    at = end + 2;
  }
}

export class AnswerReader {
  private parts: Buffer[] = [];
  private size = 0;
  private head: Head | undefined;

  add(part: Buffer): void {
    this.parts.push(part);
    this.size += part.length;
  }

  // Whether another request may follow on the connection.
  get keepAlive(): boolean {
    return this.head?.keepAlive ?? false;
  }

  // Returns the response once it is complete. `closed`: the connection has ended. Throws if it is
  // malformed.
  take(closed: boolean): Answer | undefined {
    while (!this.head) {
      const bytes = this.joined();
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0 && bytes.length <= HEAD_BYTES_MAX) return undefined;
      if (end < 0) throw new Error('the response head is too large');
      const head = readHead(bytes.toString('latin1', 0, end), end + 4);
      if (head.status >= 200) this.head = head;
      else this.keep(bytes.subarray(head.bodyAt)); // an informational response; the final one follows
    }
    const { status, retryAfter, bodyAt, length } = this.head;
    const answer = (body: Buffer, end: number): Answer => {
      if (end < this.size) throw new Error('unexpected data after the response');
      return { status, retryAfter, body };
    };
    if (length === 'until closed') return closed ? answer(this.joined().subarray(bodyAt), this.size) : undefined;
    if (length === 'chunked') {
      const read = readChunks(this.joined(), bodyAt);
      return read && answer(read.body, read.end);
    }
    if (this.size < bodyAt + length) return undefined;
    return answer(this.joined().subarray(bodyAt, bodyAt + length), bodyAt + length);
  }

  private joined(): Buffer {
    if (this.parts.length !== 1) this.keep(Buffer.concat(this.parts));
    return this.parts[0]!;
  }

  private keep(bytes: Buffer): void {
    this.parts = [bytes];
    this.size = bytes.length;
  }
}
