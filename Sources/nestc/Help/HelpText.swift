/// The parser's help, laid out for the width of the terminal. The parser breaks every long line, also those of example
/// commands, and puts the commands after the options.
struct HelpText {
    /// The parser is asked for lines of this width, which it does not break.
    static let parserColumns = 100_000
    /// Longer lines are hard to read.
    private static let columnsMax = 100
    /// The column of the descriptions of arguments, options and commands in the parser's text.
    private static let parserIndent = 26

    private let columns: Int
    /// A narrow terminal has no room for a second column: each description is below its name.
    private var isNarrow: Bool { self.columns < 60 }
    private var indent: Int { self.isNarrow ? 6 : Self.parserIndent }

    /// `columns`: the width of the terminal.
    init(columns: Int) {
        self.columns = min(max(columns, 20), Self.columnsMax)
    }

    /// Lays out a help page of the parser. `ending`: lines for the end of the page.
    func page(_ raw: String, ending: [String] = []) -> String {
        var overview: [String] = []
        var usage: [String] = []
        var lists: [(header: String, lines: [String])] = []
        var hint: [String] = []
        for line in raw.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("USAGE: ") {
                usage = self.wrapped(line, hanging: 7, keepingBrackets: true)
            } else if line.wholeMatch(of: /[A-Z][A-Z ]*:/) != nil {
                lists.append((line.replacing(/\ SUBCOMMANDS:$/, with: ":"), []))
            } else if line.hasPrefix("  See '") {
                hint = self.wrapped(String(line.dropFirst(2)), hanging: 0)
            } else if lists.isEmpty {
                if usage.isEmpty { overview.append(line) } else { usage += line.isEmpty ? [] : [line] }
            } else if !line.isEmpty {
                lists[lists.count - 1].lines.append(line)
            }
        }
        let options = lists.filter { $0.header == "OPTIONS:" }
        let others = lists.filter { $0.header != "OPTIONS:" }
        // Commands first: they are what the reader is looking for.
        let ordered = others.contains { Self.holdsCommands($0.header) } ? others + options : lists
        var blocks = [self.paragraphs(overview), usage] + ordered.map { [$0.header] + self.list($0.lines) }
        blocks += [ending, hint]
        return blocks.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    /// Lays out a fault of the command line, with the usage below it.
    func fault(_ raw: String) -> String {
        raw.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            .flatMap { $0.hasPrefix("Usage: ") ? self.wrapped($0, hanging: 7, keepingBrackets: true) : [$0] }
            .joined(separator: "\n")
    }

    private static func holdsCommands(_ header: String) -> Bool { header != "ARGUMENTS:" && header != "OPTIONS:" }

    /// Lays out paragraphs, one a line. Indented lines, such as examples, are not broken.
    func paragraphs(_ lines: [String]) -> [String] {
        var shown = lines.flatMap { $0.hasPrefix(" ") ? self.example($0) : self.wrapped($0, hanging: 0) }
        while shown.last == "" { shown.removeLast() }
        return shown
    }

    /// Lays out a list of names with descriptions.
    func list(_ entries: [(name: String, text: String)]) -> [String] {
        entries.flatMap { name, text in
            let label = "  \(name)"
            let described = self.wrapped(String(repeating: " ", count: self.indent) + text, hanging: self.indent)
            guard !self.isNarrow, label.count + 2 <= self.indent, let first = described.first else {
                return [label] + described
            }
            return [label + first.dropFirst(label.count)] + described.dropFirst()
        }
    }

    /// Lays out a list of the parser.
    private func list(_ lines: [String]) -> [String] {
        var entries: [(name: String, text: String)] = []
        for line in lines {
            let start = line.prefix { $0 == " " }.count
            if start >= Self.parserIndent, !entries.isEmpty {
                let more = line.dropFirst(start)
                entries[entries.count - 1].text += (entries[entries.count - 1].text.isEmpty ? "" : " ") + more
            } else if line.count > Self.parserIndent, line.prefix(Self.parserIndent).last == " " {
                let name = line.prefix(Self.parserIndent).trimmingSpaces()
                entries.append((name, String(line.dropFirst(Self.parserIndent))))
            } else {
                entries.append((Substring(line).trimmingSpaces(), ""))
            }
        }
        return self.list(entries)
    }

    /// Puts the remark behind an example on a line of its own if both do not fit on one.
    private func example(_ line: String) -> [String] {
        guard line.count > self.columns, let match = line.wholeMatch(of: /( *)(\S.*?\S) {2,}(\S.*)/) else {
            return [line]
        }
        let remark = String(repeating: " ", count: match.1.count + 4)
        return [String(match.1 + match.2)] + self.wrapped(remark + match.3, hanging: match.1.count + 4)
    }

    /// Breaks a line at spaces. `hanging`: the indentation of the lines after the first. `keepingBrackets`: does not
    /// break inside brackets.
    func wrapped(_ line: String, hanging: Int, keepingBrackets: Bool = false) -> [String] {
        guard line.count > self.columns else { return [line] }
        var lines: [String] = []
        var current = String(line.prefix { $0 == " " })
        var isEmpty = true
        for word in Self.words(line, keepingBrackets: keepingBrackets) {
            if !isEmpty, current.count + 1 + word.count > self.columns {
                lines.append(current)
                current = String(repeating: " ", count: hanging)
                isEmpty = true
            }
            current += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [current]
    }

    private static func words(_ line: String, keepingBrackets: Bool) -> [String] {
        var words: [String] = []
        var depth = 0
        for word in line.split(separator: " ") {
            if depth > 0 { words[words.count - 1] += " \(word)" } else { words.append(String(word)) }
            guard keepingBrackets else { continue }
            depth += word.count { $0 == "[" } - word.count { $0 == "]" }
        }
        return words
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> String {
        var text = self.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
