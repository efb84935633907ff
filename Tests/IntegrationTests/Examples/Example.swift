import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

/// One of the examples: its files, and a server that serves it as its page says.
struct Example {
    let directory: String
    let page: Page
    let server: ServerProcess
    let user: CommandLineUser
    /// What the seed script has printed.
    let seeded: String

    /// Starts the server and runs the seed script, both as the first block of the page has them.
    init(_ name: String) async throws {
        self.directory = "Examples/\(name)"
        self.page = Page(try Repository.text("\(self.directory)/README.md"))
        let start = try #require(self.page.blocks.first { $0.label == "sh" }).lines
        #expect(start.count == 2, "the page says how to run it in two commands")
        // The page's port and store are the reader's; the tests have theirs.
        let words = start[0].split(separator: " ").map(String.init)
        try #require(words.first == "nestd" && start[1] == "\(self.directory)/seed.sh", "\(start)")
        var arguments: [String] = []
        if let model = words.firstIndex(of: "--model") {
            arguments = ["--model", Repository.root.appending(path: words[model + 1]).path()]
        }
        self.server = ServerProcess(arguments: arguments)
        try await self.server.start()
        self.user = await CommandLineUser(self.server)
        let result = try await CommandLineUser.Result(Self.shell(start[1], self.user))
        try #require(result.status == 0 && result.errors == "", "\(result.report)")
        self.seeded = result.output
    }

    /// A line of the shell as the page's reader types it: at the top of the repository, with the programs in the path.
    static func shell(_ line: String, _ user: CommandLineUser) throws -> ChildProcess {
        let programs = URL(filePath: Program.nestc).deletingLastPathComponent().path()
        let script = "cd '\(Repository.root.path())' && PATH='\(programs)':$PATH && { \(line)\n} 2>&1"
        return try ChildProcess("/bin/bash", ["-c", script], environment: user.environment)
    }

    /// A client of the library, for as long as `body` runs.
    @MainActor func withClient<Result>(_ body: @MainActor (NestClient) async throws -> Result) async throws -> Result {
        try await NestClient.withClient(await self.server.configuration(), body)
    }

    /// The parsed lines of a command with `--json`.
    func json(_ arguments: String...) async throws -> [JSONValue] {
        try await self.user.output(arguments + ["--json"]).split(separator: "\n").map {
            try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))
        }
    }
}
