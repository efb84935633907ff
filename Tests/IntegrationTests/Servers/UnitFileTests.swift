import Foundation
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// The service's sandbox, as far as it can be checked without a running systemd.
    @Suite struct UnitFile {
        private static let unit = "deploy/nestd.service"
        private static let hasTools =
            FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")
            && FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")

        private static func lines(_ program: String, _ arguments: [String]) async throws -> [Substring] {
            let process = try ChildProcess("/usr/bin/\(program)", arguments)
            try await process.wait(forEnd: .exit(0))
            return process.output.split(separator: "\n")
        }

        /// Returns the system calls of a group and of its nested groups.
        private static func calls(of name: String) async throws -> Set<String> {
            guard name.hasPrefix("@") else { return [name] }
            var calls: Set<String> = []
            for line in try await Self.lines("systemd-analyze", ["syscall-filter", name]).dropFirst() {
                let member = line.drop { $0 == " " }
                if !member.hasPrefix("#") { calls.formUnion(try await Self.calls(of: String(member))) }
            }
            return calls
        }

        /// Returns the system calls that the unit allows. Its lines apply in order; each adds calls or, with `~`,
        /// removes them.
        private static func allowed() async throws -> Set<String> {
            // Every systemd filter includes these calls.
            var allowed = try await Self.calls(of: "@default")
            for line in try Repository.text(Self.unit).split(separator: "\n") {
                guard let match = line.wholeMatch(of: /SystemCallFilter=(~?)(.*)/) else { continue }
                for name in match.2.split(separator: " ") {
                    let calls = try await Self.calls(of: String(name))
                    if match.1.isEmpty { allowed.formUnion(calls) } else { allowed.subtract(calls) }
                }
            }
            return allowed
        }

        /// Under typical requests the server makes no system call that its unit forbids.
        @Test(.enabled(if: hasTools, "systemd-analyze or strace is not installed"))
        func theServerMakesNoSystemCallThatItsUnitForbids() async throws {
            let server = ServerProcess()
            let trace = "\(server.directory.path)/trace"
            try await server.start(through: "strace", ["-D", "-f", "-qq", "-o", trace])
            let user = await CommandLineUser(server)
            try await user.output("import", "-", "--format", "text", "--quiet", input: "a\nb\n\tc\n")
            try await user.output("undo")
            try await user.output("export", "1", "--quiet")
            try await user.output("backup", "\(server.directory.path)/copy.sqlite", "--quiet")
            try await user.output("check", "--quiet")
            try await user.output("stat")
            try await server.terminate()
            let text = try String(contentsOfFile: trace, encoding: .utf8)
            let made = Set(text.matches(of: /(?m)^[0-9]+ +([a-z][a-z0-9_]*)\(/).map { String($0.1) })
            #expect(made.isSuperset(of: ["fdatasync", "accept4", "epoll_wait", "openat"]), "\(made)")
            // As root, the server changes the owner of files that it creates; the service does not run as root.
            let ofRoot: Set = getuid() == 0 ? ["fchown", "lchown"] : []
            let forbidden = made.subtracting(try await Self.allowed()).subtracting(ofRoot)
            #expect(forbidden == [])
        }

        /// systemd's exposure score of the unit, in tenths from 0 to 100, stays at most 15.
        @Test(.enabled(if: hasTools, "systemd-analyze or strace is not installed"))
        func theUnitsExposureScoreIsLow() async throws {
            let path = Repository.root.appending(path: Self.unit).path()
            _ = try await Self.lines(
                "systemd-analyze",
                ["security", "--offline=yes", "--no-pager", "--threshold=15", path]
            )
        }
    }
}
