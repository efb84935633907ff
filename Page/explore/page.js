export function open(main) {
  main.textContent = 'explore';
  return { go() {}, close() {} };
}
