export function open(main) {
  main.textContent = 'server';
  return { go() {}, close() {} };
}
