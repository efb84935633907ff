import Foundation
import NestTestSupport
import Testing

/// The screens that a terminal program shows one after the other, compared with pictures kept as text in
/// `Tests/Fixtures/screens`. With `NEST_WRITE_PICTURES=1` the test writes them: look at them before you commit them.
actor Pictures {
    private static let patience = Duration.testPatience
    /// With `NEST_WRITE_PICTURES=1`, the time after which a screen is complete.
    private static let settling = Duration.milliseconds(700)

    private let path: String
    private let screen: Screen
    private let isWriting = ProcessInfo.processInfo.environment["NEST_WRITE_PICTURES"] == "1"
    private var expected: [(title: String, lines: [String])]
    private var shown: [(title: String, lines: [String])] = []

    /// `name`: the file's name without its extension.
    init(_ name: String, _ screen: Screen) throws {
        self.path = "Tests/Fixtures/screens/\(name).txt"
        self.screen = screen
        let text = (try? Repository.text(self.path)) ?? ""
        self.expected = text.components(separatedBy: "== ").dropFirst().map { part in
            var lines = part.components(separatedBy: "\n")
            let title = lines.removeFirst()
            while lines.last == "" { lines.removeLast() }
            // The bar shows where the line begins and that it is not empty.
            return (title, lines.map { String($0.dropFirst()) })
        }
    }

    /// Waits until the screen is that of the next picture, which has this title. `text` is a part of the picture; with
    /// `NEST_WRITE_PICTURES=1` the screen is complete some time after it appears.
    func expect(
        _ title: String,
        containing text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        if self.isWriting {
            try await waitUntil("'\(text)' on the screen") { [screen] in
                let lines = try await screen.lines()
                return text == "" || lines.contains { $0.contains(text) }
            }
            try await Task.sleep(for: Self.settling)
            self.shown.append((title, try await self.screen.lines()))
            return
        }
        let next = self.shown.count
        guard self.expected.indices.contains(next), self.expected[next].title == title else {
            self.shown.append((title, []))
            Issue.record("\(self.path) has no picture '\(title)' here", sourceLocation: sourceLocation)
            return
        }
        let wanted = self.expected[next].lines
        let deadline = ContinuousClock.now + Self.patience
        var lines: [String] = []
        repeat {
            lines = try await self.screen.lines()
            if lines == wanted { break }
            try await Task.sleep(for: .milliseconds(20))
        } while ContinuousClock.now < deadline
        self.shown.append((title, lines))
        guard lines != wanted else { return }
        Issue.record(
            """
            \(self.path), \(title)
            --- the picture
            \(wanted.joined(separator: "\n"))
            --- the screen
            \(lines.joined(separator: "\n"))
            """,
            sourceLocation: sourceLocation
        )
    }

    /// Checks that no picture is left, or writes the pictures.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard self.isWriting else {
            #expect(self.shown.count == self.expected.count, "\(self.path)", sourceLocation: sourceLocation)
            return
        }
        let text = self.shown.map { title, lines in "== \(title)\n" + lines.map { "|\($0)\n" }.joined() }
        let file = Repository.root.appending(path: self.path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.joined(separator: "\n").utf8).write(to: file)
    }
}
