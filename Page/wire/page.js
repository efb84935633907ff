export function open(main) {
  main.textContent = 'wire';
  return { go() {}, close() {} };
}
