import ArgumentParser
import CLimits
import Glibc

/// A system call of a limit's server that failed, with the reason in `errno`.
struct LimitFailure: Error, CustomStringConvertible {
    let description: String

    /// Throws if a function of CLimits returned the name of a system call.
    static func check(_ call: UnsafePointer<CChar>?) throws {
        guard let call else { return }
        throw Self(description: "\(String(cString: call)): \(String(cString: strerror(errno)))")
    }
}

/// The servers of the limits. Each listens on a free port, prints it, and serves until the process ends.
enum LimitServer {
    static func serve(_ body: (Int32) -> UnsafePointer<CChar>?) throws {
        _ = Descriptors.connectionsMax()
        var (listener, port) = (Int32(-1), UInt16(0))
        try LimitFailure.check(nest_limit_listen(&listener, &port))
        print("listening on 127.0.0.1:\(port)")
        fflush(nil)
        try LimitFailure.check(body(listener))
    }
}

struct ServeEcho: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-echo", shouldDisplay: false)

    func run() throws {
        try LimitServer.serve { nest_limit_echo($0) }
    }
}

struct ServeAnswers: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-answers", shouldDisplay: false)
    @Option var requestBytes: Int
    @Option var answerBytes: Int

    func run() throws {
        try LimitServer.serve { nest_limit_answers($0, self.requestBytes, self.answerBytes) }
    }
}

struct ServeFanout: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-fanout", shouldDisplay: false)
    @Option var directory = "/tmp"
    @Option var recordBytes: Int
    @Option var changeBytes: Int
    @Option var answerBytes: Int

    func run() throws {
        var file = nest_limit_file()
        try LimitFailure.check(nest_limit_file_open(&file, self.directory))
        defer { nest_limit_file_close(&file) }
        let sizes = nest_limit_sizes(
            record_bytes: self.recordBytes,
            change_bytes: self.changeBytes,
            answer_bytes: self.answerBytes
        )
        try LimitServer.serve { nest_limit_fanout($0, &file, sizes) }
    }
}
