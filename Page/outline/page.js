export function open(main) {
  main.textContent = 'outline';
  return { go() {}, close() {} };
}
