extension XMLElement {
    /// Reads the outermost element of a document that is small enough for memory.
    static func parse(_ bytes: [UInt8], _ rules: XMLRules = .model) throws(FormatError) -> XMLElement {
        /// Elements that have begun and not ended, each within the one before it.
        var open: [XMLElement] = []
        var root: XMLElement?
        try XMLReader(rules).read(bytes, isLast: true) { (event) throws(FormatError) in
            switch event {
            case .begin(let name, let attributes, _):
                var element = XMLElement(name)
                element.attributes = Dictionary(attributes.map { ($0.name, $0.value) }) { first, _ in first }
                open.append(element)
            case .text(let text):
                if !open.isEmpty { open[open.count - 1].text += text }
            case .comment, .instruction: break
            case .end:
                var element = open.removeLast()
                // White space between the tags is layout.
                if element.text.allSatisfy(\.isWhitespace) { element.text = "" }
                if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
            }
        }
        guard let root else { preconditionFailure("the reader refuses a document without an element") }
        return root
    }
}
