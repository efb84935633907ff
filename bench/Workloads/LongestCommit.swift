import Histogram

/// The longest commit of another client while something large happens, over the rounds of a run.
struct LongestCommit {
    private var measurement: Measurement
    private var latency = Histogram<UInt64>(highestTrackableValue: 600_000_000)
    private var times: [Double] = []

    /// `wanted`: the target, as the report prints it.
    init(_ workload: String, _ parameters: String, wanted: String) {
        self.measurement = Measurement(
            workload: workload,
            parameters: parameters,
            unit: "us",
            nest: [],
            limitName: "the median of the same commits while nothing else happens",
            limit: [],
            isTime: true,
            wanted: wanted
        )
    }

    /// Adds a round. `during`: the commits meanwhile, and `alone` their median without it, in microseconds. `seconds`:
    /// how long it took.
    mutating func add(_ during: Histogram<UInt64>, alone: Double, seconds: Double) {
        self.measurement.nest.append(Double(during.max))
        self.measurement.limit.append(alone)
        self.latency.add(during)
        self.times.append(seconds)
    }

    /// `what`: the name of what took the time.
    func report(_ what: String, to report: Report) {
        var measurement = self.measurement
        measurement.latency = self.latency
        report.add(measurement)
        report.note("\(what) took \(Report.fixed(Measurement.median(self.times))) s")
    }
}
