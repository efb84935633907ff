import Foundation

/// Writes a Swift file with the texts of others: `Embedder OUTPUT ROOT PATH…`. Literals of strings compile quickly, and
/// are in the program as they are in the file.
@main struct Embedder {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count > 2 else { throw Fault(text: "usage: Embedder OUTPUT ROOT PATH…") }
        let (output, root) = (arguments[1], arguments[2])
        var list = ""
        var texts = ""
        for (index, path) in arguments.dropFirst(2).enumerated() {
            let bytes = try Data(contentsOf: URL(filePath: "\(root)/\(path)"))
            list += "        PageFile(path: \"\(path)\", tag: \"\(Self.tag(bytes))\", text: text\(index)),\n"
            texts += "\nprivate let text\(index): StaticString = \(try Self.literal(bytes, path))\n"
        }
        let source = """
            // Made by Plugins/Embedder from the files of the page and of the JavaScript client.

            extension PageFile {
                /// All files, sorted by path.
                package static let all: [PageFile] = [
            \(list)    ]
            }

            """
        try Data((source + texts).utf8).write(to: URL(filePath: output))
    }

    private struct Fault: Error, CustomStringConvertible {
        var text: String
        var description: String { self.text }
    }

    /// A literal of several lines with the bytes, whatever they are. A literal has only LF between its lines.
    private static func literal(_ bytes: Data, _ path: String) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0), !bytes.contains(0x0d) else {
            throw Fault(text: "\(path) must be UTF-8, without NUL and CR")
        }
        // With one more than the text has in a row, nothing in it ends the literal, or begins an escape.
        let runs = text.utf8.split(separator: 0x23, omittingEmptySubsequences: false)
        var longest = 0
        var length = 0
        for part in runs.dropLast() {
            length = part.isEmpty ? length + 1 : 1
            longest = max(longest, length)
        }
        let marks = String(repeating: "#", count: longest + 1)
        return "\(marks)\"\"\"\n\(text)\n\"\"\"\(marks)"
    }

    /// The version of a file: FNV-1a of its bytes, in hexadecimal digits.
    private static func tag(_ bytes: Data) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
