import Foundation
import NestClient
import NestTestSupport
import Testing

/// Sessions that programs keep in files.
@Suite struct NamedSessionTests {
    private let directory = TemporaryDirectory()

    private func session(_ program: String, token: AccessToken? = nil) throws -> ClientSession {
        var configuration = ClientConfiguration(session: .fresh, token: token)
        try configuration.keepSession(of: program, in: "\(self.directory.path)/a/b")
        return configuration.session
    }

    @Test func theNextRunHasTheSameSession() throws {
        let first = try self.session("org.example.shop")
        #expect(try self.session("org.example.shop") == first)
        #expect(try self.session("other") != first)
        let token = try #require(AccessToken(text: "nest_3_" + String(repeating: "0", count: 64)))
        let withToken = try self.session("org.example.shop", token: token)
        #expect(try self.session("org.example.shop", token: token) == withToken && withToken != first)
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(self.directory.path)/a/b").sorted()
        #expect(names == ["org.example.shop", "org.example.shop+token3", "other"])
        for name in names {
            let file = try FileManager.default.attributesOfItem(atPath: "\(self.directory.path)/a/b/\(name)")
            #expect(file[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func programsThatStartTogetherHaveOneSession() async throws {
        for round in 0..<50 {
            let sessions = try await withThrowingTaskGroup(of: ClientSession.self) { group in
                for _ in 0..<8 { group.addTask { try self.session("round\(round)") } }
                return try await group.reduce(into: Set<ClientSession>()) { $0.insert($1) }
            }
            #expect(sessions.count == 1)
        }
    }

    @Test func whatIsNoSessionIsRefused() throws {
        for name in ["", ".hidden", "a/b", "..", "é", String(repeating: "a", count: 101)] {
            #expect(throws: NestError.self, "\(name)") { try self.session(name) }
        }
        _ = try self.session("shop")
        try Data("x".utf8).write(to: URL(filePath: "\(self.directory.path)/a/b/shop"))
        #expect { try self.session("shop") } throws: { error in
            (error as? NestError)?.message.hasSuffix("/shop contains no session: remove it to start a new one") == true
        }
    }
}
