import NestTestSupport
import Testing

/// docs/adding-a-request.md quotes the code as it is.
@Suite struct RequestPageTests {
    @Test func everyQuotedLineIsInTheFileThatItsSectionNames() throws {
        let page = try Repository.text("docs/adding-a-request.md")
        var quoted = 0
        for section in page.split(separator: "\n## ").dropFirst() {
            guard let path = section.firstMatch(of: /`(Sources\/[^`]+\.swift)`/).map({ String($0.1) }) else { continue }
            let file = try Repository.text(path)
            for block in section.matches(of: /```swift\n([^`]+)```/) {
                for line in block.1.split(separator: "\n") {
                    // What stands after the three dots is left out on the page.
                    let text = line.prefix { $0 != "…" }.trimmingSpaces
                    guard !text.isEmpty else { continue }
                    #expect(file.contains(text), "\(path): \(text)")
                    quoted += 1
                }
            }
        }
        #expect(quoted > 15)
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}
