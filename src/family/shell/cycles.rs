//! Search for a cycle among items that refer to each other by index.

/// Returns a path from an item back to itself, with that item first and last. Not recursive: a file
/// may hold thousands of steps in one chain.
pub(crate) fn circle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Never; edges.len()];
    for start in 0..edges.len() {
        let mut way = vec![(start, 0)];
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::OnTheWay;
        while let Some((at, next)) = way.last_mut() {
            let Some(to) = edges[*at].get(*next).copied() else {
                seen[*at] = Seen::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match seen[to] {
                Seen::Done => {}
                Seen::Never => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
                Seen::OnTheWay => {
                    let way: Vec<usize> = way.iter().map(|(at, _)| *at).collect();
                    let first = way.iter().position(|at| *at == to).unwrap_or_default();
                    let mut circle = way[first..].to_vec();
                    circle.push(to);
                    return Some(circle);
                }
            }
        }
    }
    None
}
