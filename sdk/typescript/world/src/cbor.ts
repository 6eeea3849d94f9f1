// CBOR (RFC 8949), as much of it as the wire needs: numbers, texts, bytes, lists, maps with text
// keys, and times (tag 1). Members that are undefined are left out, on both ways.

const text = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { fatal: true });

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
    // Most texts are short and plain: their length in bytes is their length.
    if (value.length < 64) {
      this.reserve(value.length * 3 + 9);
      const at = this.size;
      const written = text.encodeInto(value, this.bytes.subarray(at + 2)).written;
      if (written < 24) {
        this.bytes[at] = 0x60 | written;
        this.bytes.copyWithin(at + 1, at + 2, at + 2 + written);
        this.size = at + 1 + written;
      } else {
        this.bytes[at] = 0x78;
        this.bytes[at + 1] = written;
        this.size = at + 2 + written;
      }
      return;
    }
    const size = Buffer.byteLength(value);
    this.head(3, size);
    this.reserve(size);
    this.size += this.bytes.write(value, this.size);
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
      const members = Object.entries(value).filter(([, member]) => member !== undefined);
      this.head(5, members.length);
      for (const [key, member] of members) {
        this.text(key);
        this.value(member);
      }
    }
  }
}

export function encode(value: unknown): Buffer {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes.subarray(0, writer.size);
}

class Reader {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}

  private length(low: number): number {
    switch (low) {
      case 24:
        return this.bytes.readUInt8((this.at += 1) - 1);
      case 25:
        return this.bytes.readUInt16BE((this.at += 2) - 2);
      case 26:
        return this.bytes.readUInt32BE((this.at += 4) - 4);
      case 27:
        return Number(this.bytes.readBigUInt64BE((this.at += 8) - 8));
      default:
        if (low > 23) throw new Error('not CBOR');
        return low;
    }
  }

  private slice(size: number): Buffer {
    const end = this.at + size;
    if (end > this.bytes.length) throw new Error('not CBOR: it ends early');
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  private string(size: number): string {
    const part = this.slice(size);
    return size < 200 ? part.toString('utf8') : utf8.decode(part);
  }

  private ended(): boolean {
    if (this.bytes[this.at] !== 0xff) return false;
    this.at += 1;
    return true;
  }

  value(): unknown {
    const head = this.bytes.readUInt8(this.at++);
    const low = head & 31;
    switch (head >> 5) {
      case 0:
        return this.length(low);
      case 1:
        return -1 - this.length(low);
      case 2:
        // A copy: the answer's memory is not kept alive by one payload.
        return new Uint8Array(this.slice(this.length(low)));
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
        const member = () => {
          const key = this.value() as string;
          const value = this.value();
          if (key === '__proto__') return;
          map[key] = value;
        };
        if (low === 31) {
          while (!this.ended()) member();
        } else {
          for (let left = this.length(low); left > 0; --left) member();
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
        if (low === 27) return this.bytes.readDoubleBE((this.at += 8) - 8);
        if (low === 26) return this.bytes.readFloatBE((this.at += 4) - 4);
        throw new Error('not CBOR');
    }
  }
}

export function decode(bytes: Buffer): unknown {
  return new Reader(bytes).value();
}
