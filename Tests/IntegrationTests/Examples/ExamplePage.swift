import Foundation
import NestTestSupport

/// The page of an example: its blocks, and the commands in them with what they print.
///
/// A block `console` has commands after `$`, their further lines after `>`, and what each prints. A block `console live` is a
/// terminal of its own: its command goes on, and later blocks of that label have what it prints next.
struct ExamplePage {
    struct Block {
        var label: String
        var lines: [String] = []
        /// Where its lines are in the page.
        var range: Range<Int>
    }

    struct Command: Equatable {
        var text: String
        /// The lines that say it.
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

    /// What a block says before its first command, which is more of an earlier one's output, and its commands.
    static func commands(_ block: Block) -> (more: [String], commands: [Command]) {
        var more: [String] = []
        var commands: [Command] = []
        for line in block.lines {
            if line.hasPrefix("$ ") {
                commands.append(Command(text: String(line.dropFirst(2)), source: [line]))
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

    /// The page with other lines in its blocks.
    func replacing(_ blocks: [(range: Range<Int>, lines: [String])]) -> String {
        var lines = self.lines
        for block in blocks.reversed() { lines.replaceSubrange(block.range, with: block.lines) }
        return lines.joined(separator: "\n")
    }

    /// Times differ from run to run, unless somebody has typed them.
    static func withoutTimes(_ lines: [String]) -> [String] {
        lines.map { line in
            line.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) { time in
                time.output.hasSuffix("T00:00:00.000000Z") ? String(time.output) : "(time)"
            }
        }
    }
}
