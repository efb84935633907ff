import Logging
import NIOConcurrencyHelpers
import NestOperations
import Testing

/// The effects of reloading the configuration.
@Suite struct ReloaderTests {
    private struct Refusal: Error, CustomStringConvertible { let description = "the key does not match" }

    private let applied = NIOLockedValueBox<[String]>([])
    private let log = LogLines()

    private func step(_ name: String, refuses: Bool = false) -> ReloadStep {
        let applied = self.applied
        return ReloadStep(name) { settings in
            if refuses { throw Refusal() }
            return { applied.withLockedValue { $0.append("\(name) \(settings.text(.logLevel) ?? "")") } }
        }
    }

    private func reloader(_ steps: [ReloadStep], _ file: @escaping @Sendable () -> String) throws -> Reloader {
        Reloader(try ServiceSettings(flags: [:]), steps: steps, logger: self.log.logger) {
            try ServiceSettings(flags: [:], file: ("nestd.json", Array(file().utf8)))
        }
    }

    @Test func reloadAppliesSettingsThatCanChange() throws {
        let reloader = try self.reloader([self.step("one"), self.step("two")]) {
            #"{"log": {"level": "debug"}, "port": 7777}"#
        }
        #expect(reloader.reload())
        #expect(self.applied.withLockedValue { $0 } == ["one debug", "two debug"])
        #expect(
            self.log.lines == [
                "warning config.needs_restart from=7000 setting=port to=7777",
                "notice config.changed from=info setting=log.level to=debug", "notice config.reloaded",
            ]
        )
        // The port still needs a restart; the log level was applied.
        #expect(reloader.reload())
        #expect(
            self.log.lines.dropFirst(3) == [
                "warning config.needs_restart from=7000 setting=port to=7777", "notice config.reloaded",
            ]
        )
    }

    @Test func anInvalidFileChangesNothingAndEveryFaultIsLogged() throws {
        let reloader = try self.reloader([self.step("one")]) { #"{"log": {"level": "debug"}, "prot": 1, "port": -1}"# }
        #expect(!reloader.reload())
        #expect(self.applied.withLockedValue { $0 } == [])
        #expect(
            self.log.lines == [
                "error config.refused fault=nestd.json, line 1: there is no setting prot; did you mean port?",
                "error config.refused fault=nestd.json: port must be a whole number from 0 to 65535",
            ]
        )
    }

    /// This holds whichever step refuses.
    @Test func aRefusedReloadStepChangesNothing() throws {
        for position in 0...2 {
            var steps = [self.step("one"), self.step("two")]
            steps.insert(self.step("tls", refuses: true), at: position)
            #expect(!(try self.reloader(steps) { #"{"log": {"level": "debug"}}"# }.reload()))
            #expect(self.applied.withLockedValue { $0 } == [])
            #expect(self.log.lines.last == "error config.refused fault=tls: the key does not match")
        }
    }
}

/// Records the lines of a logger: the level, the message and the metadata sorted by name.
final class LogLines: Sendable {
    private let kept = NIOLockedValueBox<[String]>([])

    var lines: [String] { self.kept.withLockedValue { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(kept: self.kept) } }

    private struct Handler: LogHandler {
        let kept: NIOLockedValueBox<[String]>
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            let line = "\(event.level) \(event.message)\(metadata.joined())"
            self.kept.withLockedValue { $0.append(line) }
        }
    }
}
