import ArgumentParser
import NestDocuments
import UnixSignals

/// Runs the command, and turns its outcome into messages and an exit code. No other code in nestc does that.
@main
enum Main {
    private enum Outcome: Sendable {
        case ended(Int32)
        case signal(UnixSignal)
        case tooLate
    }

    /// The time that a command gets to restore the terminal after Ctrl-C.
    private static let unwindingMicroseconds: UInt32 = 500_000

    static func main() async {
        // Makes writing to a closed pipe an error of `write` instead of the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // The arguments are read from /proc. If they are lost, do not print the help and exit with 0.
        guard !CommandLine.arguments.isEmpty else {
            printMessage("cannot read the command line: is /proc mounted?")
            exit(ExitStatus.configuration.rawValue)
        }
        // Dispatch requests priorities that only root may have, and writes to the system's log each time that it does
        // not get one.
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
                printMessage(report.text)
            }
            return status
        }
        // An error of the parser: help that the user requested, or a fault of the command line.
        let isHelp = Nestc.exitCode(for: error) == .success
        let text = Nestc.fullMessage(for: error)
        try? writeAll(
            Array((text.hasSuffix("\n") ? text : text + "\n").utf8),
            to: isHelp ? STDOUT_FILENO : STDERR_FILENO
        )
        return isHelp ? .done : .usage
    }
}
