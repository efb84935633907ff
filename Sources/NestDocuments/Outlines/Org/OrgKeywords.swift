/// The words that may begin a headline, and whether they mean that it is done: those of the lines `#+TODO:`,
/// `#+SEQ_TODO:` and `#+TYP_TODO:` before the first headline, otherwise TODO and DONE.
struct OrgKeywords: Sendable {
    private static let names: Set<String> = ["#+todo:", "#+seq_todo:", "#+typ_todo:"]

    /// Whether each word means done.
    private var words = ["TODO": false, "DONE": true]
    private var hasOwn = false
    private var hasDone = false
    /// The word for an item that is done, unless its `extra` has another.
    private(set) var done = "DONE"

    /// Whether a line sets words.
    static func isSetting(_ line: [UInt8]) -> Bool {
        let line = line.drop(while: LineBytes.isBlank)
        guard line.first == UInt8(ascii: "#") else { return false }
        return Self.names.contains(LineBytes.text(LineBytes.word(line).word).lowercased())
    }

    /// Takes a line before the first headline. The words behind `|` mean done; without it, the last one does.
    mutating func take(_ line: [UInt8]) {
        guard Self.isSetting(line) else { return }
        let line = LineBytes.text(LineBytes.word(LineBytes.trimmed(line[...])).rest)
        let words = line.split { $0 == " " || $0 == "\t" }
        guard !words.isEmpty else { return }
        if !self.hasOwn { self.words = [:] }
        let bar = words.firstIndex(of: "|")
        for (index, word) in words.enumerated() where word != "|" {
            // A key and what is logged may follow: `WAIT(w@/!)`.
            let name = String(word.prefix { $0 != "(" })
            let isDone = bar.map { index > $0 } ?? (index == words.count - 1)
            guard !name.isEmpty, self.words[name] == nil else { continue }
            self.words[name] = isDone
            if isDone, !self.hasDone { self.done = name }
            self.hasDone = self.hasDone || isDone
        }
        self.hasOwn = true
        if !self.hasDone { self.words["DONE"] = true }
    }

    /// Returns `nil` for a word that may not begin a headline.
    func isDone(_ word: String) -> Bool? { self.words[word] }
}
