// The subset of CBOR (RFC 8949) that the protocol needs: numbers, texts, bytes, lists, maps with
// text keys, and times (tag 1). Members that are undefined are omitted when encoding and decoding.

const utf8 = new TextDecoder('utf-8', { fatal: true });
// For a few plain characters a JavaScript loop is faster than a native call.
const SHORT_TEXT = 48;

class Writer {
  bytes = Buffer.allocUnsafe(4096);
  size = 0;

  reserve(count: number): void {
    if (this.size + count <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.size + count));
    this.bytes.copy(grown, 0, 0, this.size);
    this.bytes = grown;
  }

  head(major: number, value: number): void {
    this.reserve(9);
    const top = major << 5;
    if (value < 24) {
      this.bytes[this.size++] = top | value;
    } else if (value < 0x100) {
      this.bytes[this.size++] = top | 24;
      this.bytes[this.size++] = value;
    } else if (value < 0x10000) {
      this.bytes[this.size++] = top | 25;
      this.size = this.bytes.writeUInt16BE(value, this.size);
    } else if (value < 0x100000000) {
      this.bytes[this.size++] = top | 26;
      this.size = this.bytes.writeUInt32BE(value, this.size);
    } else {
      this.bytes[this.size++] = top | 27;
      this.size = this.bytes.writeBigUInt64BE(BigInt(value), this.size);
    }
  }

  text(value: string): void {
    if (value.length < SHORT_TEXT && this.plainText(value)) return;
    const size = Buffer.byteLength(value);
    this.head(3, size);
    this.reserve(size);
    this.size += this.bytes.write(value, this.size);
  }

  // Most texts are short and ASCII. Returns false, with nothing written, for any other text.
  private plainText(value: string): boolean {
    const { length } = value;
    this.reserve(length + 2);
    const { bytes } = this;
    const start = this.size + (length < 24 ? 1 : 2);
    for (let i = 0; i < length; ++i) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      bytes[start + i] = code;
    }
    if (length < 24) {
      bytes[start - 1] = 0x60 | length;
    } else {
      bytes[start - 2] = 0x78;
      bytes[start - 1] = length;
    }
    this.size = start + length;
    return true;
  }

  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.bytes.set(value, this.size);
    this.size += value.length;
  }

  double(value: number): void {
    this.reserve(9);
    this.bytes[this.size++] = 0xfb;
    this.size = this.bytes.writeDoubleBE(value, this.size);
  }

  value(value: unknown): void {
    switch (typeof value) {
      case 'string':
        return this.text(value);
      case 'number':
        if (Number.isSafeInteger(value)) {
          return value >= 0 ? this.head(0, value) : this.head(1, -1 - value);
        }
        return this.double(value);
      case 'boolean':
        this.reserve(1);
        this.bytes[this.size++] = value ? 0xf5 : 0xf4;
        return;
      case 'bigint':
        return this.double(Number(value));
      case 'object':
        break;
      default:
        this.reserve(1);
        this.bytes[this.size++] = 0xf6;
        return;
    }
    if (value === null) {
      this.reserve(1);
      this.bytes[this.size++] = 0xf6;
    } else if (value instanceof Uint8Array) {
      this.head(2, value.length);
      this.raw(value);
    } else if (value instanceof ArrayBuffer) {
      this.head(2, value.byteLength);
      this.raw(new Uint8Array(value));
    } else if (value instanceof Date) {
      this.reserve(1);
      this.bytes[this.size++] = 0xc1;
      this.double(value.getTime() / 1000);
    } else if (Array.isArray(value)) {
      this.head(4, value.length);
      for (const item of value) this.value(item);
    } else {
      this.map(value as Record<string, unknown>);
    }
  }

  private map(map: Record<string, unknown>): void {
    const keys = Object.keys(map);
    let count = 0;
    for (const key of keys) {
      if (map[key] !== undefined) count += 1;
    }
    this.head(5, count);
    for (const key of keys) {
      const member = map[key];
      if (member === undefined) continue;
      this.text(key);
      this.value(member);
    }
  }
}

export function encode(value: unknown): Buffer {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes.subarray(0, writer.size);
}

// Keys and states repeat constantly: a short text seen before is not created again.
const KNOWN_TEXTS = 256;
const KNOWN_TEXT_BYTES = 24;
const known: string[] = new Array<string>(KNOWN_TEXTS).fill('');

class Reader {
  private at = 0;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(private readonly buffer: Buffer) {
    this.bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  }

  private length(low: number): number {
    switch (low) {
      case 24:
        return this.view.getUint8((this.at += 1) - 1);
      case 25:
        return this.view.getUint16((this.at += 2) - 2);
      case 26:
        return this.view.getUint32((this.at += 4) - 4);
      case 27:
        return Number(this.view.getBigUint64((this.at += 8) - 8));
      default:
        if (low > 23) throw new Error('not CBOR');
        return low;
    }
  }

  // Consumes the next `size` bytes and returns where they start.
  private take(size: number): number {
    const begin = this.at;
    if (begin + size > this.bytes.length) throw new Error('not CBOR: it ends early');
    this.at = begin + size;
    return begin;
  }

  private string(size: number): string {
    const begin = this.take(size);
    if (size < KNOWN_TEXT_BYTES) return this.knownText(begin, size);
    if (size < 200) return this.buffer.toString('utf8', begin, begin + size);
    return utf8.decode(this.bytes.subarray(begin, begin + size));
  }

  private knownText(begin: number, size: number): string {
    const { bytes } = this;
    if (size === 0) return '';
    const slot = (bytes[begin]! * 31 + bytes[begin + size - 1]! * 7 + bytes[begin + (size >> 1)]! + size) % KNOWN_TEXTS;
    const last = known[slot]!;
    let same = last.length === size;
    for (let i = 0; same && i < size; ++i) same = last.charCodeAt(i) === bytes[begin + i];
    if (same) return last;
    const text = this.buffer.toString('utf8', begin, begin + size);
    if (text.length === size) known[slot] = text; // ASCII: one byte per character
    return text;
  }

  private ended(): boolean {
    if (this.bytes[this.at] !== 0xff) return false;
    this.at += 1;
    return true;
  }

  private member(map: Record<string, unknown>): void {
    const key = this.value() as string;
    const value = this.value();
    if (key !== '__proto__') map[key] = value;
  }

  value(): unknown {
    const head = this.view.getUint8(this.at++);
    const low = head & 31;
    switch (head >> 5) {
      case 0:
        return this.length(low);
      case 1:
        return -1 - this.length(low);
      case 2: {
        // A copy, so that one payload does not keep the memory of the whole answer alive.
        const begin = this.take(this.length(low));
        return this.bytes.slice(begin, this.at);
      }
      case 3:
        return this.string(this.length(low));
      case 4: {
        const list: unknown[] = [];
        if (low === 31) {
          while (!this.ended()) list.push(this.value());
        } else {
          for (let left = this.length(low); left > 0; --left) list.push(this.value());
        }
        return list;
      }
      case 5: {
        const map: Record<string, unknown> = {};
        if (low === 31) {
          while (!this.ended()) this.member(map);
        } else {
          for (let left = this.length(low); left > 0; --left) this.member(map);
        }
        return map;
      }
      case 6: {
        const tag = this.length(low);
        const value = this.value();
        return tag === 1 ? new Date(Math.round((value as number) * 1000)) : value;
      }
      default:
        if (low === 20 || low === 21) return low === 21;
        if (low === 22) return null;
        if (low === 23) return undefined;
        if (low === 27) return this.view.getFloat64((this.at += 8) - 8);
        if (low === 26) return this.view.getFloat32((this.at += 4) - 4);
        throw new Error('not CBOR');
    }
  }
}

export function decode(bytes: Buffer): unknown {
  return new Reader(bytes).value();
}
