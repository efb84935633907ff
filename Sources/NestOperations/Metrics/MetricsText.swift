/// The text form of metrics that Prometheus scrapes, version 0.0.4.
package enum MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the text of the families in the given order, each with HELP and TYPE.
    package static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            text += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + sample.suffix
                if !sample.labels.isEmpty {
                    let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
                    text += "{\(labels.joined(separator: ","))}"
                }
                text += " \(Self.number(sample.value))\n"
            }
        }
        return text
    }

    /// Returns a number's text: a whole number without a fraction, and infinity as Prometheus reads it.
    static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return "\(whole)" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value.isNaN ? "NaN" : "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        let text = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        return quotes ? text.replacing("\"", with: "\\\"") : text
    }
}
