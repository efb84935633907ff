import Foundation
import Glibc

/// A PostgreSQL server with its default durability, in a directory of its own. It ends when this object is released.
///
/// PostgreSQL refuses to run as root: if root runs this program, the server runs as the user `postgres`.
final class BenchPostgres {
    /// The address of its database for libpq.
    let url: String
    private let process: Process

    /// The directory of the programs of the newest PostgreSQL; `nil` if none is installed.
    static var programs: String? {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        return versions.sorted(by: >).map { "\(root)/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: "\($0)/postgres") }
    }

    /// Creates a database below `directory` and serves it on a free port of the loopback interface.
    init(directory: String) throws {
        guard let programs = Self.programs else { throw BenchError.failed("PostgreSQL is not installed") }
        let data = "\(directory)/postgres"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        chmod(data, 0o700)
        if getuid() == 0, let user = getpwnam("postgres") { chown(data, user.pointee.pw_uid, user.pointee.pw_gid) }
        let arguments = ["-D", data, "-A", "trust", "-U", "nest", "-E", "UTF8", "--no-locale", "--no-sync"]
        let made = Self.prepared("\(programs)/initdb", arguments)
        try made.run()
        made.waitUntilExit()
        guard made.terminationStatus == 0 else { throw BenchError.failed("initdb cannot create \(data)") }

        let port = try Self.freePort()
        self.url = "postgres://nest@127.0.0.1:\(port)/postgres"
        let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="]
        self.process = Self.prepared(
            "\(programs)/postgres",
            ["-D", data, "-p", "\(port)"] + settings.flatMap { ["-c", $0] }
        )
        try self.process.run()
        while !Self.accepts("\(programs)/pg_isready", port: port) {
            guard self.process.isRunning else { throw BenchError.failed("PostgreSQL does not start in \(data)") }
            usleep(20_000)
        }
    }

    deinit {
        // A fast shutdown, which does not wait for its clients.
        if self.process.isRunning { kill(self.process.processIdentifier, SIGINT) }
        self.process.waitUntilExit()
    }

    private static func accepts(_ program: String, port: Int) -> Bool {
        let asking = Self.prepared(program, ["-q", "-h", "127.0.0.1", "-p", "\(port)"])
        guard (try? asking.run()) != nil else { return false }
        asking.waitUntilExit()
        return asking.terminationStatus == 0
    }

    /// Returns a process without output that is not started yet.
    private static func prepared(_ program: String, _ arguments: [String]) -> Process {
        let process = Process()
        let switching = ["--reuid=postgres", "--regid=postgres", "--init-groups", program]
        process.executableURL = URL(fileURLWithPath: getuid() == 0 ? "/usr/bin/setpriv" : program)
        process.arguments = (getuid() == 0 ? switching : []) + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return process
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw BenchError.failed("no port is free") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
