import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Stat: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the server's counters and gauges.",
        discussion: """
            Examples:
              nestc stat
              nestc stat --every 2          every 2 seconds with rates, until Ctrl-C
              nestc stat --every 1 --count 10 --json
              nestc stat --json             one JSON object

            With --every and --json, each line is one object; "perSecond" has the rates since the previous line.
            """
    )

    @Option(help: ArgumentHelp("Repeat with this interval, and show rates.", valueName: "seconds"))
    var every: Double?

    @Option(help: ArgumentHelp("With --every: end after this many times.", valueName: "n"))
    var count: Int?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let every, !(every >= 0.1 && every <= 86_400) {
            throw ValidationError("--every must be a number of seconds from 0.1 to 86400")
        }
        if let count, count < 1 { throw ValidationError("--count must be 1 or more") }
        if self.count != nil, self.every == nil { throw ValidationError("--count needs --every") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        guard let every else {
            return try self.print(StatisticRates(values: try await client.statistics(), earlier: nil), &output)
        }
        let clock = ContinuousClock()
        var earlier: (values: [Statistic], at: ContinuousClock.Instant)?
        var due = clock.now
        for number in 0... {
            let values = try await client.statistics()
            let now = clock.now
            let rates = StatisticRates(
                values: values,
                earlier: earlier.map { ($0.values, (now - $0.at) / .seconds(1)) }
            )
            if number > 0, !self.global.json { try output.line("") }
            try self.print(rates, &output)
            try output.flush()
            earlier = (values, now)
            if let count, number + 1 >= count { return }
            // If the machine was suspended, continue from now, without the missed outputs.
            due = max(due + .seconds(every), clock.now)
            try await clock.sleep(until: due)
        }
    }

    private func print(_ rates: StatisticRates, _ output: inout Output) throws {
        if self.global.json {
            try output.line(
                .object { json in
                    for value in rates.values { json.field(value.name, value.value) }
                    guard self.every != nil else { return }
                    json.key("perSecond")
                    json.object { json in
                        for (name, rate) in rates.rates {
                            json.key(name)
                            json.double(rate)
                        }
                    }
                }
            )
            return
        }
        let width = rates.values.map(\.name.count).max() ?? 0
        let numbers = rates.values.map { ShownText.number(Int(clamping: $0.value)) }
        let digits = numbers.map(\.count).max() ?? 0
        let known = Dictionary(uniqueKeysWithValues: rates.rates)
        for (value, number) in zip(rates.values, numbers) {
            let name = value.name + String(repeating: " ", count: width - value.name.count)
            guard let rate = known[value.name] else {
                try output.line("\(output.dim(name))  \(number)")
                continue
            }
            let padding = String(repeating: " ", count: digits - number.count)
            try output.line("\(output.dim(name))  \(number)\(padding)  \(Self.shown(rate))/s")
        }
    }

    /// Returns the rate with one decimal digit.
    private static func shown(_ rate: Double) -> String {
        let tenths = Int((rate * 10).rounded())
        return "\(ShownText.number(tenths / 10)).\(tenths % 10)"
    }
}

/// Statistics, and the rates of the counters among them.
struct StatisticRates {
    let values: [Statistic]
    /// The growth of each counter per second; empty without earlier values. A counter that has become smaller restarted
    /// with the server, and counts from 0.
    let rates: [(String, Double)]

    init(values: [Statistic], earlier: (values: [Statistic], secondsAgo: Double)?) {
        self.values = values
        guard let earlier, earlier.secondsAgo > 0 else {
            self.rates = []
            return
        }
        let before = Dictionary(earlier.values.map { ($0.name, $0.value) }) { $1 }
        self.rates = values.filter(\.isCounter).map { statistic in
            let old = before[statistic.name] ?? 0
            let grown = statistic.value >= old ? statistic.value - old : statistic.value
            return (statistic.name, Double(grown) / earlier.secondsAgo)
        }
    }
}
