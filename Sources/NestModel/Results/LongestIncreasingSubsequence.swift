/// Returns the indexes of a longest strictly increasing subsequence. O(n log n). (Fredman, 1975.)
package func longestIncreasingSubsequence(_ values: [Int]) -> [Int] {
    /// For each length, the index of the least value that ends such a subsequence.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: values.count)
    for index in values.indices {
        var low = 0
        var high = ends.count
        while low < high {
            let middle = (low + high) / 2
            if values[ends[middle]] < values[index] { low = middle + 1 } else { high = middle }
        }
        if low > 0 { previous[index] = ends[low - 1] }
        if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var result: [Int] = []
    var index = ends.last ?? -1
    while index >= 0 {
        result.append(index)
        index = previous[index]
    }
    return result.reversed()
}
