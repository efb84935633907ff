import Foundation
import NestTestSupport

/// A page of the documents: its code blocks, with their commands and the output of each.
///
/// | label | what the block is |
/// | --- | --- |
/// | `console` | commands after `$`, continuation lines after `>`, and their output. `ann$` is Ann's terminal |
/// | `console live NAME` | a terminal with a running command. Later blocks of the same name show its next lines |
/// | `screen` | a program that draws on the whole terminal: its command, then the screen |
/// | `screen keys=Down,Space` | the same screen after these keys |
///
/// In shown lines `…` stands for any text, and a line of `…` alone for any number of lines. Times are compared by form.
struct Page {
    struct Block {
        var label: String
        var lines: [String] = []
        /// The indexes of its lines in the page.
        var range: Range<Int>
    }

    struct Command: Equatable {
        /// The name of the person whose terminal runs the command; "" for `$`.
        var person: String
        var text: String
        /// The lines of the page that contain the command.
        var source: [String]
        var output: [String] = []
    }

    let lines: [String]
    private(set) var blocks: [Block] = []

    init(_ text: String) {
        self.lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var start: (label: String, line: Int)?
        for (index, line) in self.lines.enumerated() where line.hasPrefix("```") {
            if let (label, first) = start {
                self.blocks.append(Block(label: label, lines: Array(self.lines[first..<index]), range: first..<index))
                start = nil
            } else {
                start = (String(line.dropFirst(3)), index + 1)
            }
        }
    }

    /// Returns the lines before the first command of a block, which continue the output of an earlier command, and the
    /// commands.
    static func commands(_ block: Block) -> (more: [String], commands: [Command]) {
        var more: [String] = []
        var commands: [Command] = []
        for line in block.lines {
            if let match = line.prefixMatch(of: #/([a-z]*)\$ /#) {
                let text = String(line[match.range.upperBound...])
                commands.append(Command(person: String(match.output.1), text: text, source: [line]))
            } else if commands.isEmpty {
                more.append(line)
            } else if line.hasPrefix("> "), commands[commands.count - 1].output.isEmpty {
                commands[commands.count - 1].text += "\n" + line.dropFirst(2)
                commands[commands.count - 1].source.append(line)
            } else {
                commands[commands.count - 1].output.append(line)
            }
        }
        return (more, commands)
    }

    /// Returns the page with the lines of its blocks replaced.
    func replacing(_ blocks: [(range: Range<Int>, lines: [String])]) -> String {
        var lines = self.lines
        for block in blocks.reversed() { lines.replaceSubrange(block.range, with: block.lines) }
        return lines.joined(separator: "\n")
    }
}

/// Compares the lines of a page with printed lines.
enum Shown {
    /// Whether the lines of a page show what was printed.
    static func matches(_ shown: [String], _ printed: [String]) -> Bool {
        guard let first = shown.first else { return printed.isEmpty }
        if first == "…" {
            return (0...printed.count).contains { Self.matches(Array(shown.dropFirst()), Array(printed.dropFirst($0))) }
        }
        guard let line = printed.first, Self.matches(first, line) else { return false }
        return Self.matches(Array(shown.dropFirst()), Array(printed.dropFirst()))
    }

    static func matches(_ shown: String, _ printed: String) -> Bool {
        let printed = Self.withoutTimes(printed)
        let parts = Self.withoutTimes(shown).split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return parts[0] == printed }
        var rest = printed[...]
        for (index, part) in parts.enumerated() where part != "" {
            if index == 0 {
                guard rest.hasPrefix(part) else { return false }
                rest = rest.dropFirst(part.count)
            } else if index == parts.count - 1 {
                return rest.hasSuffix(part)
            } else {
                guard let range = rest.firstRange(of: part) else { return false }
                rest = rest[range.upperBound...]
            }
        }
        return true
    }

    /// Replaces times, which differ between runs. Dates that a user entered end with midnight and stay.
    private static func withoutTimes(_ line: String) -> String {
        line.replacing(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{6}Z)?/) { time in
            time.output.0.hasSuffix("T00:00:00.000000Z") ? String(time.output.0) : "(time)"
        }
    }
}
