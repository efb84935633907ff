import NestDocuments
import NestModel

/// The texts of totals: `count 3  sum(minutes) 210`.
struct TotalsText {
    private struct Total {
        var name: String
        /// The type of its values.
        var type: AttributeType?
    }

    private let totals: [Total]

    init(_ resolved: RequestOptions.Resolved) {
        let (entity, model) = (resolved.entity, resolved.model)
        self.totals = resolved.request.totals.map { total in
            var type: AttributeType?
            if case .function(let function, let path) = total {
                type = path.attributeType(of: entity, in: model).flatMap { function.type(of: $0) }
            }
            return Total(name: total.text(of: entity, in: model), type: type)
        }
    }

    /// Whether the request asks for none.
    var isEmpty: Bool { self.totals.isEmpty }

    /// Returns the names and values. Empty if there are no values yet.
    func text(_ values: [AttributeValue]) -> String {
        zip(self.totals, values).map { total, value in
            let text = value.isNull ? "–" : ShownText.value(value, of: total.type)
            return escapingControls("\(total.name) \(text)")
        }.joined(separator: "  ")
    }

    /// Writes an object with the name of each total.
    func write(_ values: [AttributeValue], into json: inout JSONWriter) {
        json.object { json in
            for (total, value) in zip(self.totals, values) {
                json.key(total.name)
                json.value(value, of: total.type)
            }
        }
    }
}
