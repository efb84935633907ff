/// All samples of one metric, as a scrape shows them.
package struct MetricFamily: Equatable, Sendable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram, summary
    }

    package struct Sample: Equatable, Sendable {
        /// The suffix of the metric's name: `_sum`, `_count`, `_bucket`, or nothing.
        package var suffix: String
        package var labels: [(name: String, value: String)]
        package var value: Double

        package init(suffix: String = "", labels: [(name: String, value: String)] = [], value: Double) {
            self.suffix = suffix
            self.labels = labels
            self.value = value
        }

        package static func == (a: Sample, b: Sample) -> Bool {
            a.suffix == b.suffix && a.value == b.value && a.labels.elementsEqual(b.labels, by: ==)
        }
    }

    package var name: String
    package var kind: Kind
    package var help: String
    package var samples: [Sample]

    package init(_ name: String, _ kind: Kind, help: String, samples: [Sample]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.samples = samples
    }

    /// Creates a family with a single value.
    package init(_ name: String, _ kind: Kind, help: String, value: Double) {
        self.init(name, kind, help: help, samples: [Sample(value: value)])
    }
}
