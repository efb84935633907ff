import NestDocuments
import NestModel
import NestOperations
import Testing
import NestProtocol

/// The sources of settings and the refused values.
@Suite struct SettingsTests {
    private func file(_ text: String) -> (path: String, bytes: [UInt8]) { ("nestd.json", Array(text.utf8)) }

    private func faults(_ environment: [String: String] = [:], _ text: String = "{}") -> [String] {
        do throws(SettingFaults) {
            _ = try ServiceSettings(flags: [:], environment: environment, file: self.file(text))
            return []
        } catch {
            return error.faults
        }
    }

    @Test func settingsHaveDefaults() throws {
        let settings = try ServiceSettings(flags: [:])
        #expect(settings.text(.host) == "127.0.0.1")
        #expect(settings.integer(.port) == 7_000)
        #expect(settings.text(.store) == "nest.sqlite")
        #expect(settings.text(.model) == nil)
        #expect(settings.integer(.metricsPort) == nil)
        #expect(!settings.isOn(.insecure))
        #expect(settings.integer(.connectionsMax) == Limits.connectionsMax)
    }

    /// Every source works alone and overrides the later ones.
    @Test func flagsOverrideTheEnvironmentWhichOverridesTheFile() throws {
        let file = self.file(
            #"{"port": 1, "log": {"level": "error", "format": "json"}, "limits": {"outputBytes": 2000000}}"#
        )
        let environment = ["NESTD_PORT": "2", "NESTD_LOG_LEVEL": "debug", "PATH": "/bin", "NESTD_CONFIG": "nestd.json"]
        let flags: [Setting: SettingValue] = [.port: .integer(3)]
        let all = try ServiceSettings(flags: flags, environment: environment, file: file)
        #expect(all.integer(.port) == 3)
        #expect(all.text(.logLevel) == "debug")
        #expect(all.text(.logFormat) == "json")
        #expect(all.integer(.outputBytesMax) == 2_000_000)
        #expect(try ServiceSettings(flags: [:], environment: environment, file: file).integer(.port) == 2)
        #expect(try ServiceSettings(flags: [:], file: file).integer(.port) == 1)
    }

    /// The names are those that swift-configuration derives from the keys.
    @Test func everySettingHasAnEnvironmentVariable() throws {
        for setting in Setting.all where setting != .memory {
            let value: SettingValue =
                switch setting.kind {
                case .text, .url: .text("something")
                case .flag: .flag(true)
                case .integer(let range): .integer(range.upperBound)
                case .choice(let names): .text(names[0])
                }
            let settings = try ServiceSettings(flags: [:], environment: [setting.variable: "\(value)"])
            #expect(settings.description(of: setting) == "\(value)", "\(setting.variable)")
        }
        #expect(Setting.outputBytesMax.variable == "NESTD_LIMITS_OUTPUT_BYTES")
    }

    @Test func unknownKeysAreRefusedWithTheNearestNamed() {
        let faults = self.faults(
            ["NESTD_PROT": "1", "NESTD_SOMETHING": "x"],
            """
            {
              "prot": 1,
              "log": {"levle": "info"},
              "colour": "red"
            }
            """
        )
        #expect(
            faults == [
                "the environment: there is no setting NESTD_PROT; did you mean NESTD_PORT?",
                "the environment: there is no setting NESTD_SOMETHING",
                "nestd.json, line 4: there is no setting colour",
                "nestd.json, line 3: there is no setting log.levle; did you mean log.level?",
                "nestd.json, line 2: there is no setting prot; did you mean port?",
            ]
        )
    }

    /// An invalid value is reported even if another source has a valid one.
    @Test func invalidValuesAreReportedTogether() {
        let faults = self.faults(
            ["NESTD_PORT": "70000", "NESTD_INSECURE": "perhaps"],
            #"{"port": "7000", "host": "", "log": {"level": "loud"}, "limits": {"connections": 1.5}, "model": null, "store": {}}"#
        )
        #expect(
            faults
                == [
                    "NESTD_PORT must be a whole number from 0 to 65535",
                    "nestd.json: host must be a text that is not empty",
                    "nestd.json: port must be a whole number from 0 to 65535",
                    "NESTD_INSECURE must be true or false",
                    "nestd.json: store must be a text that is not empty",
                    "nestd.json: model must be a text that is not empty",
                    "nestd.json: log.level must be one of trace, debug, info, notice, warning, error, critical",
                    "nestd.json: limits.connections must be a whole number from 1 to 1000000",
                ].sorted { a, b in faults.firstIndex(of: a) ?? 0 < faults.firstIndex(of: b) ?? 0 }
        )
        #expect(faults.count == 8)
    }

    @Test func aConfigurationThatIsNotAJSONObjectIsRefused() {
        for text in ["", "{", "[1]", "7", #"{"port": 1} {"port": 2}"#, "port: 1"] {
            let faults = self.faults([:], text)
            #expect(faults.count == 1 && faults[0].hasPrefix("nestd.json: "), "\(text): \(faults)")
        }
    }

    @Test func memoryAndStoreFollowTheOrderOfSources() throws {
        let store = self.file(#"{"store": "a.sqlite"}"#)
        let memory = self.file(#"{"memory": true}"#)
        let first = try ServiceSettings(flags: [.memory: .flag(true)], file: store)
        #expect(first.isOn(.memory))
        let second = try ServiceSettings(flags: [.store: .text("b.sqlite")], file: memory)
        #expect(!second.isOn(.memory) && second.text(.store) == "b.sqlite")
        #expect(
            self.faults([:], #"{"store": "a", "memory": true}"#) == ["nestd.json: memory and store exclude each other"]
        )
    }

    /// The URL of a log may contain a password, which nestd never prints.
    @Test(arguments: [
        ("postgres://nest:se:cr%40et@db/nest?a=b", "postgres://nest:***@db/nest?a=b"),
        ("postgres://nest@db1,db2/nest", "postgres://nest@db1,db2/nest"),
        ("postgresql://db/nest?user=u&password=secret&x=1", "postgresql://db/nest?user=u&password=***&x=1"),
        (#"host=db password='a b\' c' user=u"#, "host=db password=*** user=u"),
        ("host=db sslpassword = x password=", "host=db sslpassword = *** password=***"),
    ]) func passwordsAreHidden(url: String, shown: String) throws {
        let settings = try ServiceSettings(flags: [.logURL: .text(url)])
        #expect(settings.text(.logURL) == url)
        #expect(settings.description(of: .logURL) == shown)
        let printed = try ServiceSettings(flags: [:], file: self.file(settings.json))
        #expect(printed.text(.logURL) == shown)
        #expect(settings.spelling(of: .logURL) == "--log" && Setting.logURL.variable == "NESTD_LOG_URL")
    }

    /// The printed settings are a configuration file with the same settings.
    @Test func printedSettingsRoundTrip() throws {
        let environment = [
            "NESTD_MODEL": "with \"quotes\" and \\.json", "NESTD_METRICS_PORT": "7001", "NESTD_INSECURE": "true",
            "NESTD_LIMITS_CONNECTIONS": "12", "NESTD_LOG_FORMAT": "json",
        ]
        for settings in [
            try ServiceSettings(flags: [:]), try ServiceSettings(flags: [:], environment: environment),
            try ServiceSettings(flags: [.memory: .flag(true)], environment: environment),
        ] {
            let again = try ServiceSettings(flags: [:], file: self.file(settings.json))
            #expect(again.json == settings.json)
            #expect(settings.differences(to: again).filter { $0 != .store } == [], "\(settings.json)")
        }
    }
}
