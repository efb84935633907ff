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
                    Interruption.send()
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
        let given = Array(CommandLine.arguments.dropFirst())
        let arguments = Nestc.movingGlobalOptions(given)
        let inJSON = arguments.prefix { $0 != "--" }.contains("--json")
        do {
            if Nestc.hasUserBeforeTokenCreation(given) {
                throw ValidationError("--user after 'token create' is the user of the new token: put it there")
            }
            if let words = try CommandNames.check(arguments), try Self.printTopic(words) {
                return ExitStatus.done.rawValue
            }
            var command = try await Nestc.asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ExitStatus.done.rawValue
        } catch let end as ChildEnded {
            if let message = end.message {
                ErrorReport(status: .refused, exitCode: end.status, message: message).print(inJSON: inJSON)
            }
            return end.status
        } catch {
            // A signal ended the command: what failed because of that is no news.
            if Task.isCancelled { return ExitStatus.interrupted.rawValue }
            return Self.report(error, inJSON: inJSON).rawValue
        }
    }

    /// Prints the topic that `nestc help` names. Returns `false` if the words are a command, and throws if they are
    /// neither.
    private static func printTopic(_ words: [String]) throws -> Bool {
        guard words.count == 1, let topic = HelpTopic(rawValue: words[0]) else {
            try CommandNames.checkHelp(words)
            return false
        }
        let lines = topic.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let page = HelpText(columns: TerminalScreen.size.columns).paragraphs([topic.abstract, ""] + lines)
        try writeAll(Array((page.joined(separator: "\n") + "\n").utf8), to: STDOUT_FILENO)
        return true
    }

    private static func report(_ error: any Error, inJSON: Bool) -> ExitStatus {
        let (status, report) = ErrorReport.of(error)
        if status != .internalError {
            report?.print(inJSON: inJSON)
            return status
        }
        // An error of the parser: help that the user requested, or a fault of the command line.
        let text = Nestc.fullMessage(for: error, columns: HelpText.parserColumns)
        guard Nestc.exitCode(for: error) == .success else {
            let message = CommandNames.withoutFarSuggestion(Nestc.message(for: error))
            if inJSON {
                ErrorReport(status: .usage, message: message).print(inJSON: true)
            } else {
                Self.write(
                    HelpText(columns: TerminalScreen.size.columns).fault(CommandNames.withoutFarSuggestion(text))
                )
            }
            return .usage
        }
        let isPage = text.hasPrefix("OVERVIEW: ") || text.hasPrefix("USAGE: ")
        let page = isPage ? Nestc.page(text, HelpText(columns: TerminalScreen.size.columns)) : text
        try? writeAll(Array((page.hasSuffix("\n") ? page : page + "\n").utf8), to: STDOUT_FILENO)
        return .done
    }

    private static func write(_ fault: String) {
        try? writeAll(Array((fault.hasSuffix("\n") ? fault : fault + "\n").utf8), to: STDERR_FILENO)
    }
}
