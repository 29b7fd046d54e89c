/**
 * Keys for POSTs. The same call gets the same key until an answer has come, so
 * that pressing the button again after a broken connection does nothing twice;
 * after an answer the same call is a new intent.
 */
export function idempotency(make: () => string = randomKey) {
  const open = new Map<string, string>()
  return {
    of(intent: string): string {
      const key = open.get(intent) ?? make()
      open.set(intent, key)
      return key
    },
    answered(intent: string) {
      open.delete(intent)
    },
  }
}

// crypto.randomUUID is missing on plain http outside localhost.
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
}
