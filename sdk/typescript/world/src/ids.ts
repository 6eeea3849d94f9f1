import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

// 48 bits of time and 80 of randomness, in Crockford's base 32.
export function ulid(now = Date.now()): string {
  let time = '';
  for (let left = now, i = 0; i < 10; ++i) {
    time = ALPHABET[left % 32] + time;
    left = Math.floor(left / 32);
  }
  let rest = '';
  for (const byte of randomBytes(16)) rest += ALPHABET[byte & 31];
  return time + rest;
}

const process_ = randomBytes(8).toString('hex');
let count = 0;

// Identifies one call, so that the server detects a repetition.
export function requestId(): string {
  count += 1;
  return `${process_}-${count.toString(36)}`;
}
