import NestTestSupport
import Testing

/// The targets in docs/architecture.md are those in Package.swift.
@Suite struct ArchitectureTests {
    private struct Target: Equatable {
        var name: String
        var imports: Set<String>
    }

    private let page: String
    private let rows: [[String]]

    init() throws {
        self.page = try Repository.text("docs/architecture.md")
        self.rows = try MarkdownDocument(self.page).table("target", "level", "imports", "what it holds").rows
    }

    @Test func theTableListsEveryTargetAndItsImports() throws {
        let documented = self.rows.map { row in
            Target(name: row[0], imports: Set(row[2].matches(of: /\w+/).map { String($0.0) }))
        }
        let declared = try Self.declaredTargets()
        #expect(declared.count > 10)
        #expect(documented.sorted { $0.name < $1.name } == declared.sorted { $0.name < $1.name })
    }

    @Test func targetsImportOnlyLowerLevels() throws {
        let levels = try self.levels()
        for row in self.rows {
            for name in row[2].matches(of: /\w+/).map({ String($0.0) }) {
                #expect(try #require(levels[name]) < (try #require(levels[row[0]])), "\(row[0]) imports \(name)")
            }
        }
    }

    @Test func theDrawingShowsEveryTargetAtItsLevel() throws {
        let drawing = try #require(self.page.firstMatch(of: /```\n level\n([^`]+)```/)).1
        var drawn: [String: Int] = [:]
        for line in drawing.split(separator: "\n") {
            guard let level = line.firstMatch(of: /^ +(\d)\s/).flatMap({ Int($0.1) }) else { continue }
            for name in line.matches(of: /[A-Za-z]\w+/) { drawn[String(name.0)] = level }
        }
        #expect(drawn == (try self.levels()))
    }

    private func levels() throws -> [String: Int] {
        try Dictionary(uniqueKeysWithValues: self.rows.map { ($0[0], try #require(Int($0[1]))) })
    }

    /// Returns the targets below Sources that have Swift files, each with the ones that it depends on.
    private static func declaredTargets() throws -> [Target] {
        let manifest = try Repository.text("Package.swift")
        let sources = Set(
            try Repository.sources(under: "Sources").compactMap { file in
                file.path.firstMatch(of: /.*\/Sources\/(\w+)\//).map { String($0.1) }
            }
        )
        // A target of C++ has no such settings: the next target is another one.
        let declaration = /\.(?:target|executableTarget)\(\s*name: "(\w+)"((?:(?!\n {8}\.).)*?)swiftSettings/
            .dotMatchesNewlines()
        return manifest.matches(of: declaration).compactMap { match in
            let name = String(match.1)
            guard sources.contains(name) else { return nil }
            let quoted = match.2.matches(of: /"(\w+)"/).map { String($0.1) }
            return Target(name: name, imports: Set(quoted).intersection(sources))
        }
    }
}
