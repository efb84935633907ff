export function open(main) {
  main.textContent = 'history';
  return { go() {}, close() {} };
}
