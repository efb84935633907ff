import ArgumentParser
import NestDocuments
import UnixSignals

/// Runs the command, and turns what comes of it into messages and the exit code: the only place that does.
@main
enum Main {
    private enum Outcome: Sendable {
        case ended(Int32)
        case signal(UnixSignal)
        case tooLate
    }

    /// Time for a command to put the terminal in order after Ctrl-C.
    private static let unwindingMicroseconds: UInt32 = 500_000

    static func main() async {
        // Writing to a pipe that nobody reads is an error of `write`, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // They are read from /proc; help, and status 0, is no answer to words that are lost.
        guard !CommandLine.arguments.isEmpty else {
            tell("the command line cannot be read: is /proc mounted?")
            exit(ExitStatus.configuration.rawValue)
        }
        // Dispatch asks for priorities that only root may have, and tells the system's log each time that it did not get one.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let code = await withTaskGroup(of: Outcome.self) { group in
            group.addTask { .ended(await Self.run()) }
            let leavesInterrupt = Nestc.leavesInterrupt(CommandLine.arguments.dropFirst())
            group.addTask {
                for await signal in signals where signal != .sigint || !leavesInterrupt { return .signal(signal) }
                return .tooLate
            }
            while let outcome = await group.next() {
                switch outcome {
                case .ended(let code):
                    exit(code)
                case .signal(let signal):
                    group.cancelAll()
                    let code = signal == .sigint ? ExitStatus.interrupted.rawValue : 128 + SIGTERM
                    group.addTask {
                        // Not `Task.sleep`, which the cancellation of the group would cut short.
                        usleep(Self.unwindingMicroseconds)
                        return .tooLate
                    }
                    _ = await group.next()
                    exit(code)
                case .tooLate: break
                }
            }
            return ExitStatus.internalError.rawValue
        }
        exit(code)
    }

    private static func run() async -> Int32 {
        let arguments = Nestc.movingGlobalOptions(Array(CommandLine.arguments.dropFirst()))
        do {
            var command = try Nestc.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ExitStatus.done.rawValue
        } catch let end as ChildEnded {
            return end.status
        } catch {
            return Self.report(error, inJSON: arguments.prefix { $0 != "--" }.contains("--json")).rawValue
        }
    }

    private static func report(_ error: any Error, inJSON: Bool) -> ExitStatus {
        let (status, report) = ErrorReport.of(error)
        if status != .internalError {
            if let report, inJSON {
                try? writeAll(report.json.bytes + [UInt8(ascii: "\n")], to: STDERR_FILENO)
            } else if let report {
                tell(report.text)
            }
            return status
        }
        // The parser's: help that was asked for, or what is wrong with the command line.
        let isHelp = Nestc.exitCode(for: error) == .success
        let text = Nestc.fullMessage(for: error)
        try? writeAll(
            Array((text.hasSuffix("\n") ? text : text + "\n").utf8),
            to: isHelp ? STDOUT_FILENO : STDERR_FILENO
        )
        return isHelp ? .done : .usage
    }
}
